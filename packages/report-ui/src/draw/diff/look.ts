/** What every part of the page of a difference reads, and how what is looked at changes. */
import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { DiffPage, DiffView } from '../../data/diff-page';

/** See the module. */
export interface DiffLook {
  readonly page: DiffPage;
  readonly view: DiffView;
  readonly change: (some: Partial<DiffView>) => void;
}

/** Given by the application. */
export const DiffLookContext = createContext<DiffLook | undefined>(undefined);

/** The look of the application around. */
export function useDiffLook(): DiffLook {
  const look = useContext(DiffLookContext);
  if (look === undefined) throw new Error('outside of the application');
  return look;
}
