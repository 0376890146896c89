/** Where the pointer is above a figure, in the figure's own units. */
import { useState } from 'preact/hooks';

/** `x` is undefined while it is elsewhere. */
export function usePointerX() {
  const [x, setX] = useState<number | undefined>(undefined);
  return {
    x,
    read(event: PointerEvent): void {
      const matrix = (event.currentTarget as SVGElement).ownerSVGElement?.getScreenCTM();
      if (matrix === null || matrix === undefined) return;
      setX(new DOMPoint(event.clientX, event.clientY).matrixTransform(matrix.inverse()).x);
    },
    leave: () => setX(undefined),
  };
}
