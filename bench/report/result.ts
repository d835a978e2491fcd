/**
 * Turns measured rounds into the report's data: medians, spreads, ratios of Rollcall to the others, and the
 * bottleneck of each figure.
 *
 * Pure. A ratio is taken within each round (all servers measured one after the other) and then over rounds,
 * so that a machine which slows down for a while affects both. The report replaces a misleading ratio by the
 * reason (`ratio-rules.ts`).
 */
import type { LoadResult } from '../load/order.ts';
import { percentiles } from '../load/order.ts';
import type { Machine } from '../machine/machine.ts';
import type { Placement } from '../machine/places.ts';
import type { LoadScenarioName } from '../scenarios/scenario.ts';
import type { ServerName } from '../servers/contestants.ts';
import { type Bottleneck, findBottleneck, judgeCpuRatio, judgeRateRatio } from './ratio-rules.ts';
import { computeSpread, type Spread } from './statistics.ts';

/** One server, one round. */
export interface Sample {
  readonly scenario: LoadScenarioName;
  readonly server: ServerName;
  readonly round: number;
  readonly placement: Placement;
  readonly load: LoadResult;
  /** Microseconds of CPU per request: all threads, and the event loop's alone (0: unknown). */
  readonly cpuUs: number;
  readonly mainCpuUs: number;
  readonly redisCpuUs: number;
  readonly postgresCpuUs: number;
  /** Cores that the server used. */
  readonly cores: number;
  readonly residentBytes: number;
}

export interface ServerFigures {
  readonly requestsPerSecond: Spread;
  /** Milliseconds at each of `percentiles`: medians over rounds. */
  readonly latencyMs: readonly number[];
  readonly cpuUs: Spread;
  readonly mainCpuUs: Spread;
  readonly redisCpuUs: Spread;
  readonly postgresCpuUs: Spread;
  readonly bytesPerRequest: number;
  readonly residentBytes: number;
  readonly cores: Spread;
  readonly generatorBusy: Spread;
  /** Answers that were not 2xx, and requests without one, over all rounds. */
  readonly failed: number;
  /** CPU was measured on one core, shared with the generator. */
  readonly samePressure: boolean;
  readonly bottleneck: Bottleneck;
}

export interface RatioFigures {
  readonly to: ServerName;
  readonly cpu: Spread | null;
  readonly rate: Spread | null;
  /** The generator limited Rollcall: the ratio of requests/s is at least this. */
  readonly rateIsLeast: boolean;
  /** Why one of the ratios is missing. */
  readonly reasons: readonly string[];
}

export interface ScenarioFigures {
  readonly scenario: LoadScenarioName;
  readonly rounds: number;
  readonly servers: Readonly<Partial<Record<ServerName, ServerFigures>>>;
  readonly ratios: readonly RatioFigures[];
}

export interface Races {
  readonly atOnce: number;
  /** Accepted votes; one is correct. */
  readonly through: Readonly<Partial<Record<ServerName, number>>>;
}
export interface Idle {
  readonly server: ServerName;
  readonly connections: number;
  readonly bytesPerConnection: number;
}
/** Samples of Rollcall's own metrics during the measurement. */
export interface Moment {
  readonly atSeconds: number;
  readonly residentBytes: number;
  readonly flushLagSeconds: number;
}

export interface Result {
  readonly version: 2;
  readonly machine: Machine;
  readonly stores: string;
  readonly load: string;
  readonly placements: readonly Placement[];
  readonly connections: number;
  /** 0: closed loop. */
  readonly rate: number;
  readonly measureSeconds: number;
  readonly settings: Readonly<Record<string, string>>;
  /** `stats_cpu_vs_bare_uws` and so on. */
  readonly ratios: Readonly<Record<string, number>>;
  readonly scenarios: readonly ScenarioFigures[];
  readonly races: Races | null;
  readonly idle: readonly Idle[];
  readonly moments: readonly Moment[];
  readonly samples: readonly Sample[];
  readonly interrupted: boolean;
}

const countFailed = ({ statuses, errors }: LoadResult): number =>
  Object.entries(statuses).reduce(
    (sum, [status, count]) => sum + (status.startsWith('2') ? 0 : count),
    errors,
  );

/** The samples of one placement; all samples when it was not measured. */
const placed = (samples: readonly Sample[], placement: Placement): readonly Sample[] => {
  const own = samples.filter((sample) => sample.placement === placement);
  return own.length > 0 ? own : samples;
};

const isPlaced = (samples: readonly Sample[], placement: Placement): boolean =>
  samples.some((sample) => sample.placement === placement);

/** CPU comes from the rounds on one core, everything else from those where the system placed processes. */
const toServerFigures = (samples: readonly Sample[]): ServerFigures => {
  const forCpu = placed(samples, 'one-core');
  const forRate = placed(samples, 'free');
  const cpu = (value: (sample: Sample) => number): Spread => computeSpread(forCpu.map(value));
  const spread = (value: (sample: Sample) => number): Spread => computeSpread(forRate.map(value));
  const generatorBusy = spread(({ load }) => load.generatorBusy);
  const cores = spread((sample) => sample.cores);
  const requests = samples.reduce((sum, { load }) => sum + load.requests, 0);
  return {
    requestsPerSecond: spread(({ load }) => load.requestsPerSecond),
    latencyMs: percentiles.map((_, index) => spread(({ load }) => load.latencyMs[index] ?? 0).median),
    cpuUs: cpu((sample) => sample.cpuUs),
    mainCpuUs: cpu((sample) => sample.mainCpuUs),
    redisCpuUs: cpu((sample) => sample.redisCpuUs),
    postgresCpuUs: cpu((sample) => sample.postgresCpuUs),
    bytesPerRequest: samples.reduce((sum, { load }) => sum + load.bytes, 0) / Math.max(1, requests),
    residentBytes: spread((sample) => sample.residentBytes).max,
    cores,
    generatorBusy,
    failed: samples.reduce((sum, { load }) => sum + countFailed(load), 0),
    samePressure: forCpu.every(({ placement }) => placement === 'one-core'),
    bottleneck: findBottleneck({ generatorBusy: generatorBusy.median, serverCores: cores.median }),
  };
};

const toRatioFigures = (
  ours: readonly Sample[],
  others: readonly Sample[],
  value: (sample: Sample) => number,
): Spread | null => {
  const ratios = ours.flatMap((sample) => {
    const { round, placement } = sample;
    const other = others.find((one) => one.round === round && one.placement === placement);
    const divisor = other === undefined ? 0 : value(other);
    return divisor > 0 ? [value(sample) / divisor] : [];
  });
  return ratios.length === 0 ? null : computeSpread(ratios);
};

const ratiosTo = (
  to: ServerName,
  bySample: ReadonlyMap<ServerName, readonly Sample[]>,
  servers: Readonly<Partial<Record<ServerName, ServerFigures>>>,
): RatioFigures => {
  const ours = bySample.get('rollcall') ?? [];
  const others = bySample.get(to) ?? [];
  const [our, other] = [servers.rollcall, servers[to]];
  if (our === undefined || other === undefined) {
    return { to, cpu: null, rate: null, rateIsLeast: false, reasons: [] };
  }
  // A quick run measures the CPU of some servers only.
  const alike = our.samePressure === other.samePressure;
  const noCpu = alike ? judgeCpuRatio(our, other) : '';
  const measured = isPlaced(ours, 'free') && isPlaced(others, 'free');
  const { reason: noRate, isLeast } = measured ? judgeRateRatio(our, other) : { reason: '', isLeast: false };
  const within = (placement: Placement, value: (sample: Sample) => number) =>
    toRatioFigures(placed(ours, placement), placed(others, placement), value);
  return {
    to,
    cpu: noCpu === null ? within('one-core', ({ cpuUs }) => cpuUs) : null,
    rate: noRate === null ? within('free', ({ load }) => load.requestsPerSecond) : null,
    rateIsLeast: isLeast,
    reasons: [noCpu, noRate].flatMap((reason) => (reason === null || reason === '' ? [] : [reason])),
  };
};

/** The figures of one scenario from its samples, complete or not. */
export const toScenarioFigures = (
  scenario: LoadScenarioName,
  samples: readonly Sample[],
  order: readonly ServerName[],
): ScenarioFigures => {
  const own = samples.filter((sample) => sample.scenario === scenario);
  const bySample = new Map(
    order
      .map((name) => [name, own.filter(({ server }) => server === name)] as const)
      .filter(([, list]) => list.length > 0),
  );
  const servers: Partial<Record<ServerName, ServerFigures>> = {};
  for (const [name, list] of bySample) servers[name] = toServerFigures(list);
  const others = [...bySample.keys()].filter((name) => name !== 'rollcall');
  return {
    scenario,
    rounds: Math.min(...[...bySample.values()].map((list) => new Set(list.map(({ round }) => round)).size)),
    servers,
    ratios: bySample.has('rollcall') ? others.map((name) => ratiosTo(name, bySample, servers)) : [],
  };
};

const named = (name: ServerName): string => (name === 'bare' ? 'bare_uws' : name.replaceAll('-', '_'));
const rounded = (value: number): number => Math.round(value * 1_000) / 1_000;

/** Ratios by the names that tools read: `<scenario>_cpu_vs_<other>`, `<scenario>_rps_vs_<other>`. */
export const collectRatios = (scenarios: readonly ScenarioFigures[]): Record<string, number> =>
  Object.fromEntries(
    scenarios.flatMap(({ scenario, ratios }) =>
      ratios.flatMap(({ to, cpu, rate }) => [
        ...(cpu === null ? [] : [[`${scenario}_cpu_vs_${named(to)}`, rounded(cpu.median)] as const]),
        ...(rate === null ? [] : [[`${scenario}_rps_vs_${named(to)}`, rounded(rate.median)] as const]),
      ]),
    ),
  );
