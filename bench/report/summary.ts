/**
 * The report of a run of the suite from its rows: figures of each server, ratios of Rollcall to the others,
 * the bottleneck of each figure, targets, notes. Pure.
 *
 * CPU per request falls as a server gets busier, because one wake-up then serves more requests. So two
 * servers may be compared by CPU only under the same pressure: on one core with the generator, where both
 * find many requests waiting, or when both are busy all the time. Requests/s of a server that waited for the
 * generator are the generator's: a minimum for ours, no basis for a comparison for a peer's. Where a ratio
 * would mislead, the report has the reason instead.
 */
import { findTargets } from '../scenarios/targets.ts';
import { type ServerName, serverNames } from '../servers/contestants.ts';
import {
  compareRounds,
  countFailed,
  formatFailures,
  latencyOf,
  medianOf,
  nameServer,
  type Row,
  rateOf,
  roundRatio,
  serverOf,
  sumFailures,
  type Value,
  withRedisOf,
} from './rows.ts';
import { computeSpread, percentile, type Spread, sumOf } from './statistics.ts';
import { type Column, formatGrouped, formatRange, type Table, tabulate } from './table.ts';

export type Bottleneck = 'server' | 'generator' | 'neither';

/** Above this share of its time a process counts as busy. */
const saturated = 0.9;

const redisOf: Value = ({ redisUs }) => redisUs;

/** The rows of one placement; all where it was not measured. */
const pickPlaced = (rows: readonly Row[], placement: string): readonly Row[] => {
  const placed = rows.filter(({ load }) => load === placement);
  return placed.length > 0 ? placed : rows;
};

/** What one server did in one scenario: CPU comes from the rounds on one core, all else from the others. */
const summarise = (rows: readonly Row[]) => {
  const [forCpu, forRate] = [pickPlaced(rows, 'one-core'), pickPlaced(rows, 'free')];
  const isBusy = (what: 'cores' | 'generatorBusy'): boolean =>
    medianOf(forRate, (row) => row.saturated?.[what] ?? 0) >= saturated;
  const { scenario, server } = rows[0] as Row;
  return {
    ...{ scenario, server: server as ServerName, rows, forCpu, forRate },
    /** CPU was measured on one core, shared with the generator. */
    samePressure: forCpu.every(({ load }) => load === 'one-core'),
    bottleneck: (isBusy('cores')
      ? 'server'
      : isBusy('generatorBusy')
        ? 'generator'
        : 'neither') as Bottleneck,
  };
};
export type Summary = ReturnType<typeof summarise>;

/** By scenario in the order of the rows, then by server in the order of reports. */
export const summariseRows = (rows: readonly Row[]): readonly Summary[] =>
  [...Map.groupBy(rows, ({ scenario }) => scenario).values()].flatMap((own) =>
    serverNames
      .map((name) => own.filter(({ server }) => server === name))
      .filter((found) => found.length > 0)
      .map(summarise),
  );

type Judged = Pick<Summary, 'bottleneck' | 'samePressure'> & { readonly failed: number };
const failedReason = 'some answers were not 2xx, so the work was not the same';

/** The reason for no ratio of CPU per request; `null` when it may be printed. */
export const judgeCpuRatio = (our: Judged, other: Judged): string | null => {
  if (our.failed + other.failed > 0) return failedReason;
  if (our.samePressure && other.samePressure) return null;
  return our.bottleneck === 'server' && other.bottleneck === 'server'
    ? null
    : 'CPU: a server had time to idle, and the machine does not let us share a core (taskset, chrt)';
};

/** The reason for no ratio of requests/s, and whether it is a least one. */
export const judgeRateRatio = (our: Judged, other: Judged) => {
  if (our.failed + other.failed > 0) return { reason: failedReason, isLeast: false };
  if (other.bottleneck !== 'generator') return { reason: null, isLeast: our.bottleneck === 'generator' };
  return { reason: 'requests/s: the other server waited for the generator', isLeast: false };
};

const toJudged = ({ bottleneck, samePressure, rows }: Summary): Judged => ({
  ...{ bottleneck, samePressure, failed: countFailed(rows) },
});

const compare = (our: Summary, other: Summary) => {
  const { server: ours, scenario } = our;
  const to = other.server;
  const [one, two] = [toJudged(our), toJudged(other)];
  // A quick run measures the CPU of some servers only.
  const noCpu = one.samePressure === two.samePressure ? judgeCpuRatio(one, two) : '';
  const isFree = (summary: Summary): boolean => summary.rows.some(({ load }) => load === 'free');
  const areFree = isFree(our) && isFree(other);
  const { reason: noRate, isLeast } = areFree ? judgeRateRatio(one, two) : { reason: '', isLeast: false };
  const within = (value: Value, divisor = value): Spread | null =>
    noCpu === null ? compareRounds(our.forCpu, other.forCpu, { value, divisor }) : null;
  const usesRedis = ours === 'rollcall' && our.rows.some((row) => redisOf(row) > 0);
  const toTotal = (): Spread | null =>
    to === 'bare' ? within(withRedisOf, serverOf) : to === 'fastify-redis' ? within(withRedisOf) : null;
  return {
    ...{ scenario, ours, to },
    /** CPU of the server alone; of it and its Redis, where neither works on SQL or embedded stores. */
    ...{ cpu: within(serverOf), total: usesRedis ? toTotal() : null },
    /** CPU of our Redis to that of the bare server. */
    redis: usesRedis && to === 'bare' ? within(redisOf, serverOf) : null,
    rate: noRate === null ? compareRounds(our.forRate, other.forRate, { value: rateOf }) : null,
    /** The generator limited Rollcall: the ratio of requests/s is at least this. */
    rateIsLeast: isLeast,
    /** Why one of the ratios is missing. */
    reasons: [noCpu, noRate].flatMap((reason) => reason || []),
  };
};
type Ratios = ReturnType<typeof compare>;

/** Rollcall to every other server; on its embedded stores to the bare server alone. */
export const compareServers = (summaries: readonly Summary[]): readonly Ratios[] =>
  summaries.flatMap((our) => {
    if (our.server !== 'rollcall' && our.server !== 'rollcall-embedded') return [];
    const isOther = ({ scenario, server }: Summary): boolean =>
      scenario === our.scenario &&
      (our.server === 'rollcall' ? !server.startsWith('rollcall') : server === 'bare');
    return summaries.filter(isOther).map((other) => compare(our, other));
  });

/** CPU of a view in a browser ÷ CPU of the same view as JSON. */
const compareViews = (summaries: readonly Summary[]): [string, number][] => {
  const [html = 0, json = 0] = ['listing', 'page'].map((name) => {
    const found = summaries.find(({ scenario, server }) => scenario === name && server === 'rollcall');
    return found === undefined ? 0 : medianOf(found.forCpu, serverOf);
  });
  return html > 0 && json > 0 ? [['listing_cpu_vs_page', roundRatio(html / json)]] : [];
};

/**
 * Ratios by the names that tools read: `<scenario>_<figure>_vs_<other>`, where the figure is `cpu`,
 * `total_cpu` (with Redis), `redis_cpu` or `rps`; `embedded_<scenario>_…` on the embedded stores.
 */
export const collectRatios = (rows: readonly Row[]): Record<string, number> => {
  const summaries = summariseRows(rows);
  const all = compareServers(summaries).flatMap(({ scenario, ours, to, cpu, total, redis, rate }) => {
    const prefix = ours === 'rollcall' ? scenario : `embedded_${scenario}`;
    return Object.entries({ cpu, total_cpu: total, redis_cpu: redis, rps: rate }).flatMap(
      ([figure, spread]) =>
        spread === null
          ? []
          : [[`${prefix}_${figure}_vs_${nameServer(to)}`, roundRatio(spread.median)] as const],
    );
  });
  return Object.fromEntries([...all, ...compareViews(summaries)]);
};

/* ---------------------------------------------------------------- tables */

const holders = { server: 'server', generator: 'generator *', neither: '–' } as const;

export const buildServerTable = (rows: readonly Row[]): Table => {
  const rate = (head: string, value: Value, digits = 1): Column<Summary> => [
    head,
    ({ forRate }) => medianOf(forRate, value),
    digits,
  ];
  const sumBytes = (row: Row): number => row.saturated?.bytes ?? 0;
  const cpu: readonly Column<Summary>[] = [
    ['CPU µs/request', ({ forCpu }) => formatRange(computeSpread(forCpu.map(serverOf)), 1)],
    ['Redis µs', ({ forCpu }) => medianOf(forCpu, redisOf), 1],
    ['Postgres µs', ({ forCpu }) => medianOf(forCpu, ({ postgresUs }) => postgresUs), 1],
  ];
  return tabulate<Summary>(
    summariseRows(rows),
    [
      ['scenario', ({ scenario }) => scenario],
      ['server', ({ server }) => server],
      ['requests/s', ({ forRate }) => formatGrouped(medianOf(forRate, rateOf))],
      rate('p50 ms', latencyOf(50)),
      rate('p90', latencyOf(90)),
      rate('p99', latencyOf(99)),
      rate('p99.9', latencyOf(99.9)),
      // That of a server that already runs is unknown.
      ...(rows.some((row) => serverOf(row) > 0) ? cpu : []),
      [
        'bytes',
        ({ rows: own }) =>
          formatGrouped(
            sumOf(own, sumBytes) /
              Math.max(
                1,
                sumOf(own, (row) => row.requests),
              ),
          ),
      ],
      ['failed', ({ rows: own }) => countFailed(own)],
      ['held back by', ({ bottleneck }) => holders[bottleneck]],
    ],
    2,
  );
};

const judgeTarget = (spread: Spread | null, target: string | undefined): string => {
  const limit = Number(target?.slice(2));
  if (target === undefined || spread === null) return '';
  const isMet = target.startsWith('≤') ? spread.median <= limit : spread.median >= limit;
  return `${target} ${isMet ? '✓' : '✗'}`;
};

/** `null` where nothing is compared. */
export const buildRatioTable = (rows: readonly Row[]): Table | null => {
  const ratios = compareServers(summariseRows(rows));
  const show = (spread: Spread | null): string => (spread === null ? '–' : formatRange(spread, 2));
  const targetsOf = ({ scenario, ours, to }: Ratios) => findTargets(scenario, ours, to);
  if (ratios.length === 0) return null;
  return tabulate(
    ratios,
    [
      ['scenario', ({ scenario }) => scenario],
      ['ours', ({ ours }) => ours],
      ['other', ({ to }) => to],
      ['server CPU', ({ cpu }) => show(cpu)],
      ['target', (one) => judgeTarget(one.cpu, targetsOf(one).cpu)],
      ['with Redis', ({ total }) => show(total)],
      ['target', (one) => judgeTarget(one.total, targetsOf(one).total)],
      ['requests/s', ({ rate, rateIsLeast }) => `${rateIsLeast && rate !== null ? '≥ ' : ''}${show(rate)}`],
      ['target', (one) => judgeTarget(one.rate, targetsOf(one).rate)],
    ],
    3,
  );
};

/* ----------------------------------------------------------------- notes */

/** A sample of Rollcall's own metrics during the measurement. */
export interface Moment {
  readonly atSeconds: number;
  readonly residentBytes: number;
  readonly flushLagSeconds: number;
}

export const describeLag = (moments: readonly Moment[]): readonly string[] => {
  if (moments.length < 10) return [];
  const lags = moments.map(({ flushLagSeconds }) => flushLagSeconds);
  const p99 = percentile(lags, 0.99).toFixed(2);
  return [`Flush lag: p99 ${p99} s over ${lags.length} samples, one a second (target ≤ 2 s).`];
};

/** Why ratios are missing, what waited for the generator, and what failed. */
export const listNotes = (rows: readonly Row[]): readonly string[] => {
  const summaries = summariseRows(rows);
  return [
    ...(summaries.some(({ bottleneck }) => bottleneck === 'generator')
      ? ['* The load generator had no time left: these requests/s are its own.']
      : []),
    ...compareServers(summaries).flatMap(({ scenario, ours, to, reasons }) =>
      reasons.map((reason) => `${scenario}, ${ours} ÷ ${to}: ${reason}.`),
    ),
    ...summaries
      .filter(({ rows: own }) => countFailed(own) > 0)
      .map(
        ({ scenario, server, rows: own }) =>
          `Failed, ${scenario}, ${server}: ${formatFailures(sumFailures(own))}.`,
      ),
  ];
};
