/**
 * Notes about what work met and nothing shows afterwards: a failure that others follow, or a success ends.
 *
 * A note goes when it is ended, or when nothing has met its cause for `holdMs`. With `delayMs`, it is listed
 * once its cause has been met for that long.
 */
import { type Note, type NoteName, toNote, toNoteName } from './notes.ts';

interface Entry {
  readonly note: Note;
  readonly key: string;
  readonly firstMs: number;
  readonly lastMs: number;
  readonly holdMs: number;
  readonly delayMs: number;
}
export interface NoteTimes {
  readonly holdMs: number;
  readonly delayMs?: number;
}

/** Causes of one name, as hosts; the one that was not met for longest goes first. */
const entriesMax = 200;

/** `nowMs`: steady time. */
export const createNoteBook = (nowMs: () => number) => {
  const entries = new Map<string, Entry>();
  const isHeld = ({ lastMs, holdMs }: Entry): boolean => nowMs() - lastMs < holdMs;
  const listHeld = (): readonly Entry[] => [...entries.values()].filter(isHeld);
  return {
    /** Records that work met the cause, one for each key; the name has the cause. */
    meet: (
      name: NoteName,
      key: string,
      { text, holdMs, delayMs = 0 }: NoteTimes & { readonly text: string },
    ) => {
      const before = entries.get(`${name} ${key}`);
      const firstMs = before !== undefined && isHeld(before) ? before.firstMs : nowMs();
      const note = toNote(name, text);
      entries.delete(`${name} ${key}`);
      entries.set(`${name} ${key}`, { note, key, firstMs, lastMs: nowMs(), holdMs, delayMs });
      const [oldest] = entries.keys();
      if (entries.size > entriesMax && oldest !== undefined) entries.delete(oldest);
    },
    /** Records that the cause is gone. */
    end: (name: NoteName, key = ''): void => void entries.delete(`${name} ${key}`),
    list: (): readonly Note[] =>
      listHeld()
        .filter(({ firstMs, lastMs, delayMs }) => lastMs - firstMs >= delayMs)
        .map(({ note }) => note),
    /** For how long each cause of this name has been met, ms by key. */
    readAges: (name: NoteName): Readonly<Record<string, number>> =>
      Object.fromEntries(
        listHeld()
          .filter(({ note }) => toNoteName(note) === name)
          .map(({ key, firstMs, lastMs }) => [key, lastMs - firstMs]),
      ),
  };
};
export type NoteBook = ReturnType<typeof createNoteBook>;
