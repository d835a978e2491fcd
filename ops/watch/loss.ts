/**
 * Reports that this process has lost its database and cannot continue.
 */

export type LossReport = ReturnType<typeof createLoss>;

/** Creates a report of nothing lost so far. */
export const createLoss = () => {
  const { promise: reported, resolve } = Promise.withResolvers<string>();
  const loss = {
    /** Why the node lost its database; `''` while it has not. */
    reason: '',
    reported,
    report: (reason: string) => {
      loss.reason = reason;
      resolve(reason);
    },
  };
  return loss;
};
