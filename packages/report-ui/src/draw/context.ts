/**
 * What every part of the page reads: the data, what is looked at, and how to change it.
 */
import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { Page } from '../data/page';
import type { View } from '../data/view';

/** See the module. */
export interface Look {
  readonly page: Page;
  readonly view: View;
  /** Changes some of the view; `replace` leaves no step to go back to. */
  readonly change: (some: Partial<View>, replace?: boolean) => void;
}

/** Given by the application. */
export const LookContext = createContext<Look | undefined>(undefined);

/** The look of the application around. */
export function useLook(): Look {
  const look = useContext(LookContext);
  if (look === undefined) throw new Error('outside of the application');
  return look;
}
