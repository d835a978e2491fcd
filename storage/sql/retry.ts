/**
 * Repeats a transaction that was broken off in favour of another one, by the server or by itself, and nothing
 * else.
 *
 * A deadlock's or a serialisation's loser was rolled back whole, so repeating is safe; everything else goes
 * to the caller at once. Pauses are random, or the same two would meet again.
 */
const repeatable = new Set(['40001', '40P01']);
const attemptsMax = 4;
const pauseMsMax = 40;

/** To throw in a transaction that found the world changed under it: it is rolled back and repeated. */
export const createSerializationFailure = (why: string): Error =>
  Object.assign(new Error(why), { code: '40001' });

/** Runs the transaction up to four times. */
export const retrySerializable = async <Result>(transaction: () => Promise<Result>): Promise<Result> => {
  for (let attempt = 1; ; attempt++) {
    try {
      return await transaction();
    } catch (error) {
      if (attempt === attemptsMax || !repeatable.has((error as { code?: string }).code ?? '')) throw error;
      await new Promise((resolve) => setTimeout(resolve, Math.random() * pauseMsMax * attempt));
    }
  }
};
