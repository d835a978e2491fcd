/**
 * What the watches of a node have in common (watches.ts). Types only.
 */
import type { Note } from '../../engine/tools/notes.ts';

export interface NodeWatch {
  readonly everyMs: number;
  /** Checks again; called every `everyMs`. Never rejects: other notes report a store that does not answer. */
  check(): Promise<void>;
  listNotes(): readonly Note[];
}
