/**
 * What the watches of a node have in common (watches.ts). Types only.
 */

export interface NodeWatch {
  readonly everyMs: number;
  /** Checks again; called every `everyMs`. Never rejects: other notes report a store that does not answer. */
  check(): Promise<void>;
  /** For `/readyz`. */
  listNotes(): readonly string[];
}
export type WatchLog = Readonly<Record<'error' | 'warn' | 'info', (message: string) => void>>;
