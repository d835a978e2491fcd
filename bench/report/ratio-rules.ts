/**
 * When a ratio may be printed, and when it would mislead. Pure.
 *
 * CPU per request falls as a server gets busier, because one wake-up then serves more requests. So two
 * servers may be compared by CPU only under the same pressure: on one core with the generator, where both
 * find many requests waiting, or when both are busy all the time. Requests/s of a server that waited for the
 * generator are the generator's: a minimum for ours, no basis for a comparison for a peer's.
 */

export type Bottleneck = 'server' | 'generator' | 'neither';

/** Above this share of its time a process counts as busy. */
const saturated = 0.9;

export const findBottleneck = (busy: {
  readonly generatorBusy: number;
  readonly serverCores: number;
}): Bottleneck => {
  if (busy.serverCores >= saturated) return 'server';
  return busy.generatorBusy >= saturated ? 'generator' : 'neither';
};

export interface Judged {
  readonly bottleneck: Bottleneck;
  readonly samePressure: boolean;
  /** Answers that were not 2xx. */
  readonly failed: number;
}

const someFailed = (our: Judged, other: Judged): boolean => our.failed > 0 || other.failed > 0;
const failedReason = 'some answers were not 2xx, so the work was not the same';

/** The reason for no ratio of CPU per request; `null` when it may be printed. */
export const judgeCpuRatio = (our: Judged, other: Judged): string | null => {
  if (someFailed(our, other)) return failedReason;
  if (our.samePressure && other.samePressure) return null;
  return our.bottleneck === 'server' && other.bottleneck === 'server'
    ? null
    : 'CPU: a server had time to idle, and the machine does not let us share a core (taskset, chrt)';
};

export interface RateRule {
  /** The reason for no ratio; `null` when it may be printed. */
  readonly reason: string | null;
  readonly isLeast: boolean;
}

/** Whether requests/s may be compared. */
export const judgeRateRatio = (our: Judged, other: Judged): RateRule => {
  if (someFailed(our, other)) return { reason: failedReason, isLeast: false };
  if (other.bottleneck !== 'generator') return { reason: null, isLeast: our.bottleneck === 'generator' };
  return { reason: 'requests/s: the other server waited for the generator', isLeast: false };
};
