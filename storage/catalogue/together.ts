/**
 * Reads again what is about to grow too old and is still asked for, many in one statement.
 *
 * A directory's popular profiles grow old together, each of them a statement that somebody waits for: a
 * thousand of them every ten seconds are most of the work of reading. Here one statement is under way at a
 * time, and what becomes due meanwhile goes with the next. A failure is nobody's: what was not read grows too
 * old, and whoever asks then waits for it and is told. Used by cache.ts only.
 */

/** Called for each row once in its life; `read` must not give one up twice. */
export type Ahead = (id: string) => void;

/** Rows in one statement: few enough that nobody else waits for them long. */
const idsMax = 100;

export const createAhead = (read: (ids: readonly string[]) => Promise<void>): Ahead => {
  let due: string[] = [];
  let reading = false;
  const readAll = async (): Promise<void> => {
    reading = true;
    while (due.length > 0) {
      const ids = due.slice(0, idsMax);
      due = due.slice(idsMax);
      await read(ids).catch(() => {
        // They are read one by one when they are too old, and that failure is told.
      });
    }
    reading = false;
  };
  return (id) => {
    due.push(id);
    if (!reading) void readAll();
  };
};
