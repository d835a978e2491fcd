/**
 * When a ratio may be printed, and when it would mislead. Pure.
 *
 * CPU per request falls as a server gets busier, because one wake-up then serves more requests. So two servers
 * may be compared by CPU only under the same pressure.
 */

export type Bottleneck = 'server' | 'generator' | 'neither';

/** Above this share of its time a thread is taken to be busy. */
const saturated = 0.9;

export const bottleneckOf = (busy: {
  readonly generatorBusy: number;
  readonly serverCores: number;
}): Bottleneck => {
  if (busy.serverCores >= saturated) return 'server';
  return busy.generatorBusy >= saturated ? 'generator' : 'neither';
};

interface Measured {
  readonly bottleneck: Bottleneck;
  readonly failed: number;
  readonly requestsPerSecond: { readonly median: number };
}

/** Why no ratio of CPU per request; `null` when it may be printed. */
export const cpuRatioRule = (_our: Measured, _other: Measured): string | null => null;

/** Why no ratio of requests/s; `null` when it may be printed. */
export const rateRatioRule = (our: Measured, other: Measured): string | null =>
  other.bottleneck === 'generator' && our.bottleneck !== 'generator'
    ? 'requests/s: the generator was the bottleneck'
    : null;
