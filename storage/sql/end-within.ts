/**
 * Bounds how long one answer of a server may take.
 */

/** Resolves like `work`; rejects after so many milliseconds without stopping it. */
export const endWithin = async <Result>(work: PromiseLike<Result>, milliseconds: number): Promise<Result> => {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer in ${milliseconds} ms`)), milliseconds);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
};
