/**
 * Logs each note (engine/tools/notes.ts) when it begins, and that it is over: one line each, however often it
 * is looked at.
 */
import { type Note, type NoteName, noteSeverities, toNoteName } from '../../engine/tools/notes.ts';

export type NoteWriter = Readonly<Record<'error' | 'warn' | 'info', (message: string) => void>>;

/** `reported`: what the start has printed, notes among it. Returns a function that looks once. */
export const createNoteLog = (
  list: () => readonly Note[],
  log: NoteWriter,
  reported: readonly string[],
): (() => void) => {
  let open: ReadonlySet<NoteName> = new Set(
    (reported as readonly Note[]).map(toNoteName).filter((name) => name in noteSeverities),
  );
  return () => {
    const notes = new Map(list().map((note) => [toNoteName(note), note]));
    for (const [name, note] of notes)
      if (!open.has(name)) log[noteSeverities[name] === 'page' ? 'error' : 'warn'](note);
    for (const name of open) if (!notes.has(name)) log.info(`${name}: over`);
    open = new Set(notes.keys());
  };
};
