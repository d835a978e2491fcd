/**
 * Turns measured rounds into the report's data: medians, spreads, ratios of Rollcall to the others, and the
 * bottleneck of each figure.
 *
 * Pure. A ratio is taken within each round (all servers measured one after the other) and then over rounds,
 * so that a machine which slows down for a while affects both. The report replaces a misleading ratio by the
 * reason (`ratio-rules.ts`).
 */
import { type LoadResult, percentiles } from '../load/order.ts';
import type { Machine } from '../machine/machine.ts';
import type { Placement } from '../machine/places.ts';
import type { LoadScenarioName } from '../scenarios/scenario.ts';
import type { OwnName, ServerName } from '../servers/contestants.ts';
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
  /** Those by status; `no answer` counts the requests without one. */
  readonly failures: Readonly<Record<string, number>>;
  /** CPU was measured on one core, shared with the generator. */
  readonly samePressure: boolean;
  readonly bottleneck: Bottleneck;
}

export interface RatioFigures {
  readonly ours: OwnName;
  readonly to: ServerName;
  /** CPU of the server alone. */
  readonly cpu: Spread | null;
  /** CPU of the server and its Redis; `null` where one of the two works on SQL or embedded stores. */
  readonly total: Spread | null;
  /** CPU of our Redis to that of the bare server; `null` for other servers. */
  readonly redis: Spread | null;
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

/** One server at one rate, once. CPU in microseconds per request. */
export interface SteadyRow {
  readonly scenario: LoadScenarioName;
  readonly server: ServerName;
  readonly rate: number;
  readonly round: number;
  readonly requests: number;
  /** Without an answer, or with one other than 2xx. */
  readonly failed: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly serverUs: number;
  readonly redisUs: number;
  readonly postgresUs: number;
  readonly redisCommands: number;
  readonly wakeUps: number;
  /** Of Postgres, per request; 0 where it does not count them, or is embedded. */
  readonly statements: number;
  /** Sent to the disk by server and stores, per request. */
  readonly diskBytes: number;
}

export interface Steady {
  /** Milliseconds until a small write is on the disk, median; on Redis every write waits so long. */
  readonly syncMs: number;
  readonly rows: readonly SteadyRow[];
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
  /** At a low, steady rate; `null` where that was not measured. */
  readonly steady: Steady | null;
  readonly races: Races | null;
  readonly idle: readonly Idle[];
  readonly moments: readonly Moment[];
  readonly samples: readonly Sample[];
  readonly interrupted: boolean;
  /** What could not be measured, and why. */
  readonly problems: readonly string[];
}

const countFailures = (loads: readonly LoadResult[]): Record<string, number> => {
  const failures: Record<string, number> = {};
  for (const { statuses, errors } of loads) {
    for (const [status, count] of [...Object.entries(statuses), ['no answer', errors] as const])
      if (count > 0 && !status.startsWith('2')) failures[status] = (failures[status] ?? 0) + count;
  }
  return failures;
};

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
  const failures = countFailures(samples.map(({ load }) => load));
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
    failed: Object.values(failures).reduce((sum, count) => sum + count, 0),
    failures,
    samePressure: forCpu.every(({ placement }) => placement === 'one-core'),
    bottleneck: findBottleneck({ generatorBusy: generatorBusy.median, serverCores: cores.median }),
  };
};

type Value = (sample: Sample) => number;

/** Ratios within rounds of one placement, over rounds. */
const toRatios = (
  { ours, others, placement: placing }: Pair & { readonly placement: Placement },
  value: Value,
  divisorOf: Value = value,
): Spread | null => {
  const ratios = placed(ours, placing).flatMap((sample) => {
    const { round, placement } = sample;
    const other = placed(others, placing).find((one) => one.round === round && one.placement === placement);
    const divisor = other === undefined ? 0 : divisorOf(other);
    return divisor > 0 ? [value(sample) / divisor] : [];
  });
  return ratios.length === 0 ? null : computeSpread(ratios);
};

interface Pair {
  readonly ours: readonly Sample[];
  readonly others: readonly Sample[];
}

const cpuOf: Value = ({ cpuUs }) => cpuUs;
const redisOf: Value = ({ redisCpuUs }) => redisCpuUs;
const totalOf: Value = (sample) => cpuOf(sample) + redisOf(sample);

const computeCpuRatios = (
  pair: Pair,
  { ours, to }: Pick<RatioFigures, 'ours' | 'to'>,
): Pick<RatioFigures, 'cpu' | 'total' | 'redis'> => {
  const within = (value: Value, divisorOf?: Value) =>
    toRatios({ ...pair, placement: 'one-core' }, value, divisorOf);
  const usesRedis = ours === 'rollcall' && pair.ours.some((sample) => redisOf(sample) > 0);
  const toBare = usesRedis && to === 'bare';
  const toRedis = usesRedis && to === 'fastify-redis';
  return {
    cpu: within(cpuOf),
    total: toBare ? within(totalOf, cpuOf) : toRedis ? within(totalOf) : null,
    redis: toBare ? within(redisOf, cpuOf) : null,
  };
};

const ratiosTo = (
  { ours, to }: Pick<RatioFigures, 'ours' | 'to'>,
  bySample: ReadonlyMap<ServerName, readonly Sample[]>,
  servers: Readonly<Partial<Record<ServerName, ServerFigures>>>,
): RatioFigures => {
  const pair = { ours: bySample.get(ours) ?? [], others: bySample.get(to) ?? [] };
  const none = { ours, to, cpu: null, total: null, redis: null, rate: null, rateIsLeast: false };
  const [our, other] = [servers[ours], servers[to]];
  if (our === undefined || other === undefined) return { ...none, reasons: [] };
  // A quick run measures the CPU of some servers only.
  const alike = our.samePressure === other.samePressure;
  const noCpu = alike ? judgeCpuRatio(our, other) : '';
  const measured = isPlaced(pair.ours, 'free') && isPlaced(pair.others, 'free');
  const { reason: noRate, isLeast } = measured ? judgeRateRatio(our, other) : { reason: '', isLeast: false };
  return {
    ...none,
    ...(noCpu === null && computeCpuRatios(pair, { ours, to })),
    rate:
      noRate === null ? toRatios({ ...pair, placement: 'free' }, ({ load }) => load.requestsPerSecond) : null,
    rateIsLeast: isLeast,
    reasons: [noCpu, noRate].flatMap((reason) => (reason === null || reason === '' ? [] : [reason])),
  };
};

/** Rollcall to every other server; on its embedded stores to the bare server alone. */
const pairsOf = (names: readonly ServerName[]): Pick<RatioFigures, 'ours' | 'to'>[] => {
  const others = names.filter((name) => name !== 'rollcall' && name !== 'rollcall-embedded');
  const ours = names.includes('rollcall') ? others.map((to) => ({ ours: 'rollcall', to }) as const) : [];
  return names.includes('rollcall-embedded') && others.includes('bare')
    ? [...ours, { ours: 'rollcall-embedded', to: 'bare' }]
    : ours;
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
  return {
    scenario,
    rounds: Math.min(...[...bySample.values()].map((list) => new Set(list.map(({ round }) => round)).size)),
    servers,
    ratios: pairsOf([...bySample.keys()]).map((pair) => ratiosTo(pair, bySample, servers)),
  };
};

const named = (name: ServerName): string => (name === 'bare' ? 'bare_uws' : name.replaceAll('-', '_'));
const rounded = (value: number): number => Math.round(value * 1_000) / 1_000;

/**
 * Ratios by the names that tools read: `<scenario>_<figure>_vs_<other>`, where the figure is `cpu`,
 * `total_cpu` (with Redis), `redis_cpu` or `rps`; `embedded_<scenario>_…` on the embedded stores.
 */
export const collectRatios = (scenarios: readonly ScenarioFigures[]): Record<string, number> => {
  const all = scenarios.flatMap(({ scenario, ratios }) =>
    ratios.flatMap(({ ours, to, cpu, total, redis, rate }) => {
      const figures = { cpu, total_cpu: total, redis_cpu: redis, rps: rate };
      const prefix = ours === 'rollcall' ? scenario : `embedded_${scenario}`;
      return Object.entries(figures).map(
        ([figure, spread]) => [`${prefix}_${figure}_vs_${named(to)}`, spread] as const,
      );
    }),
  );
  return Object.fromEntries([
    ...all.flatMap(([name, spread]) => (spread === null ? [] : [[name, rounded(spread.median)]])),
    ...compareViews(scenarios),
  ]);
};

/** CPU of a view in a browser ÷ CPU of the same view as JSON. */
const compareViews = (scenarios: readonly ScenarioFigures[]): [string, number][] => {
  const [html, json] = (['listing', 'page'] as const).map(
    (name) => scenarios.find(({ scenario }) => scenario === name)?.servers.rollcall?.cpuUs.median ?? 0,
  ) as [number, number];
  return html > 0 && json > 0 ? [['listing_cpu_vs_page', rounded(html / json)]] : [];
};
