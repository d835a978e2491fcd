/**
 * Repeats a transaction that the server broke off in favour of another one, and nothing else.
 *
 * A deadlock's or a serialisation's loser was rolled back whole, so repeating is safe; everything else goes
 * to the caller at once. Pauses are random, or the same two would meet again.
 */
const repeatable = new Set(['40001', '40P01']);
const attemptsMax = 4;
const pauseMsMax = 40;

/** Runs the transaction up to four times. */
export const repeated = async <Result>(transaction: () => Promise<Result>): Promise<Result> => {
  for (let attempt = 1; ; attempt++) {
    try {
      return await transaction();
    } catch (error) {
      if (attempt === attemptsMax || !repeatable.has((error as { code?: string }).code ?? '')) throw error;
      await new Promise((resolve) => setTimeout(resolve, Math.random() * pauseMsMax * attempt));
    }
  }
};
