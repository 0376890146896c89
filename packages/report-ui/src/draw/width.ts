/** The width that an element has, followed as it changes; plots are laid out for it. */
import type { RefObject } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';

const WIDTH_MIN = 280;

/** A reference to put on the element, and its width. */
export function useWidth<T extends HTMLElement>(initial: number): [RefObject<T | null>, number] {
  const element = useRef<T>(null);
  const [width, setWidth] = useState(initial);
  useLayoutEffect(() => {
    const measured = element.current;
    if (measured === null) return undefined;
    const measure = (): void => setWidth(Math.max(WIDTH_MIN, Math.round(measured.clientWidth)));
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(measured);
    return () => observer.disconnect();
  }, []);
  return [element, width];
}
