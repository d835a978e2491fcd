/**
 * From measured rounds to what is reported: medians, spreads, ratios ours ÷ bare, and who was the
 * bottleneck.
 *
 * Pure. A ratio is taken within each round (both servers measured one after the other) and then over rounds,
 * so that a machine which slows down for a while moves both.
 */
import type { LoadResult } from '../load/order.ts';
import type { Machine } from '../measure/machine.ts';
import { scenarioOf } from '../scenarios/all.ts';
import type { ScenarioName } from '../scenarios/scenario.ts';
import { type Spread, spreadOf } from './statistics.ts';

export type ServerName = 'rollcall' | 'bare';

/** One server, one round. */
export interface Sample {
  readonly scenario: ScenarioName;
  readonly server: ServerName;
  readonly round: number;
  readonly load: LoadResult;
  /** Microseconds of CPU per request: all threads, and the event loop's alone (0: unknown). */
  readonly cpuUs: number;
  readonly mainCpuUs: number;
  /** Cores the server kept busy. */
  readonly cores: number;
}

export interface ServerFigures {
  readonly requestsPerSecond: Spread;
  readonly p50Ms: Spread;
  readonly p99Ms: Spread;
  readonly cpuUs: Spread;
  readonly mainCpuUs: Spread;
  readonly cores: Spread;
  readonly generatorBusy: Spread;
  /** Answers that were not 2xx, and requests without one, over all rounds. */
  readonly failed: number;
  /** The generator had no time left while the event loop of the server had. */
  readonly generatorLimited: boolean;
}

export interface ScenarioFigures {
  readonly scenario: ScenarioName;
  readonly targetRatio: number;
  readonly rounds: number;
  readonly servers: Readonly<Partial<Record<ServerName, ServerFigures>>>;
  readonly cpuRatio: Spread | null;
  readonly mainCpuRatio: Spread | null;
  readonly rateRatio: Spread | null;
}

export interface Result {
  readonly machine: Machine;
  readonly load: string;
  readonly connections: number;
  readonly measureSeconds: number;
  readonly settings: Readonly<Record<string, string>>;
  /** `stats_cpu_vs_bare_uws` and so on. */
  readonly ratios: Readonly<Record<string, number>>;
  readonly scenarios: readonly ScenarioFigures[];
  readonly samples: readonly Sample[];
  readonly interrupted: boolean;
}

const saturated = 0.9;

const failedOf = ({ statuses, errors }: LoadResult): number =>
  Object.entries(statuses).reduce(
    (sum, [status, count]) => sum + (status.startsWith('2') ? 0 : count),
    errors,
  );

const figuresOf = (samples: readonly Sample[]): ServerFigures | undefined => {
  if (samples.length === 0) return undefined;
  const spread = (value: (sample: Sample) => number): Spread => spreadOf(samples.map(value));
  const generatorBusy = spread(({ load }) => load.generatorBusy);
  const cores = spread((sample) => sample.cores);
  return {
    requestsPerSecond: spread(({ load }) => load.requestsPerSecond),
    p50Ms: spread(({ load }) => load.p50Ms),
    p99Ms: spread(({ load }) => load.p99Ms),
    cpuUs: spread((sample) => sample.cpuUs),
    mainCpuUs: spread((sample) => sample.mainCpuUs),
    cores,
    generatorBusy,
    failed: samples.reduce((sum, { load }) => sum + failedOf(load), 0),
    generatorLimited: generatorBusy.median >= saturated && cores.median < saturated,
  };
};

const ratioOf = (
  ours: readonly Sample[],
  bare: readonly Sample[],
  value: (sample: Sample) => number,
): Spread | null => {
  const ratios = ours.flatMap((sample) => {
    const other = bare.find(({ round }) => round === sample.round);
    return other === undefined || value(other) === 0 ? [] : [value(sample) / value(other)];
  });
  return ratios.length === 0 ? null : spreadOf(ratios);
};

/** The figures of one scenario from its samples, whole or not. */
export const scenarioFiguresOf = (scenario: ScenarioName, samples: readonly Sample[]): ScenarioFigures => {
  const own = samples.filter((sample) => sample.scenario === scenario);
  const ours = own.filter(({ server }) => server === 'rollcall');
  const bare = own.filter(({ server }) => server === 'bare');
  const rollcall = figuresOf(ours);
  const limit = figuresOf(bare);
  return {
    scenario,
    targetRatio: scenarioOf(scenario).targetRatio,
    rounds: Math.min(ours.length, bare.length),
    servers: { ...(rollcall && { rollcall }), ...(limit && { bare: limit }) },
    cpuRatio: ratioOf(ours, bare, ({ cpuUs }) => cpuUs),
    mainCpuRatio: ratioOf(ours, bare, ({ mainCpuUs }) => mainCpuUs),
    rateRatio: ratioOf(ours, bare, ({ load }) => load.requestsPerSecond),
  };
};

/** Ratios by the names that tools look for. */
export const ratiosOf = (scenarios: readonly ScenarioFigures[]): Record<string, number> =>
  Object.fromEntries(
    scenarios.flatMap(({ scenario, cpuRatio }) =>
      cpuRatio === null ? [] : [[`${scenario}_cpu_vs_bare_uws`, Math.round(cpuRatio.median * 100) / 100]],
    ),
  );
