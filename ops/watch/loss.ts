/**
 * Reports that this process has lost its database and cannot continue.
 */

export interface LossReport {
  /** Why the node lost its database; `''` while it has not. */
  reason: string;
  readonly reported: Promise<string>;
  report(reason: string): void;
}

/** Creates a report of nothing lost so far. */
export const createLoss = (): LossReport => {
  const { promise: reported, resolve } = Promise.withResolvers<string>();
  const loss: LossReport = {
    reason: '',
    reported,
    report: (reason) => {
      loss.reason = reason;
      resolve(reason);
    },
  };
  return loss;
};
