/**
 * `npm run bench -- day`: a directory's day in twenty minutes, on each kind of stores: peaks, a hug of one
 * bot, a restart, an upgrade, month's end; judged as by `prove`, and by memory, latency, disk and jobs.
 */
import { parseChoice, parseCount, text } from '../arguments.ts';
import { type Day, runDay } from '../day/run-day.ts';
import { type CommandContext, defineCommand } from './command.ts';

const usage = `Usage: npm run bench -- day [options]

A day of a directory, compressed: morning, a noon with a restart and an upgrade, a hug of one bot, evening,
a night with the reset of month's end, and the next morning. Further days are without restarts. Memory is
looked at every morning, and judged by the last two, when caches and buffers are full. In the end the log of
the clients is judged as by "prove". Exits with 1 if anything was lost or counted twice, a job did not run,
memory in use grew by more than 2 % from one day to the next, or the 99th percentile of the last tenth is
more than 1.1 times that of the first.

  --minutes N       how long a day is (20)
  --days N          how many days (3)
  --rate N          the most requests a second, in the hug (250)
  --stores NAMES    embedded, redis, or both (embedded,redis)
  --nodes N         nodes on Redis and Postgres (2)
  --seed N          of the load (1)
  --json FILE       also writes all figures to FILE
`;

const kinds = ['embedded', 'redis'] as const;
type Kind = (typeof kinds)[number];

const growthMax = 0.02;
const slowerMax = 1.1;
const mib = 2 ** 20;

const toMib = (bytes: number): string => `${(bytes / mib).toFixed(1)} MiB`;
const toPercent = (share: number): string => `${(share * 100).toFixed(1)} %`;

const listPercents = (shares: readonly number[]): string => shares.map(toPercent).join(', ') || '–';

const listMissing = ({ declared, succeeded }: Day['jobs']): readonly string[] =>
  [...declared].filter((job) => !succeeded.has(job));

/** What is not as it must be, in words. */
const listFaults = ({ proof, p99, memory, jobs }: Day): readonly string[] => [
  ...proof.lies.map(({ kind, name, text: lie }) => `${kind} ${name}: ${lie}`),
  ...listMissing(jobs).map((job) => `the job ${job} did not run`),
  ...memory
    .map(({ growths }) => growths.at(-1) ?? 0)
    .filter((growth) => growth > growthMax)
    .map((growth) => `memory grew by ${toPercent(growth)} in the last day`),
  ...(p99.last > slowerMax * p99.first
    ? [`p99 was ${(p99.last / p99.first).toFixed(2)} times the first`]
    : []),
];

const describeDay = (day: Day): string => {
  const { proof, p99, memory, disk, jobs } = day;
  const { posts, clicks, votes } = proof.figures;
  const acknowledged = [posts, clicks, votes].map((figures) => figures?.acknowledged ?? 0);
  const nodes = memory.map(
    ({ most, bytes, growths, ownGrowths }) =>
      `${toMib(bytes)} in use, from day to day ${listPercents(growths)} ` +
      `(${listPercents(ownGrowths)} without files' pages), at most ${toMib(most)} with garbage`,
  );
  const faults = listFaults(day);
  return [
    `  acknowledged: ${acknowledged[0]} posts, ${acknowledged[1]} page views, ${acknowledged[2]} votes`,
    `  lies: ${proof.lies.length}`,
    ...nodes.map((node) => `  memory of a node: ${node}`),
    `  p99: first tenth ${p99.first.toFixed(1)} ms, last tenth ${p99.last.toFixed(1)} ms`,
    `  disk: ${toMib(disk.beforeBytes)} to ${toMib(disk.afterBytes)}`,
    `  jobs that ran: ${[...jobs.succeeded].sort().join(', ')}`,
    ...faults.slice(0, 20).map((fault) => `  FAULT ${fault}`),
    ...(faults.length > 20 ? [`  … and ${faults.length - 20} more`] : []),
  ].join('\n');
};

const parseKinds = (given: string): readonly Kind[] =>
  given.split(',').map((name) => parseChoice('stores', name, kinds));

interface DaysOptions {
  readonly minutes: number;
  readonly days: number;
  readonly rate: number;
  readonly stores: readonly Kind[];
  readonly nodes: number;
  readonly seed: number;
}

/** Resolves to the exit code: 0 without a fault, else 1. */
const run = async ({ stores, ...given }: DaysOptions, context: CommandContext): Promise<number> => {
  const { live, stop, writeJson } = context;
  const days: Partial<Record<Kind, Day>> = {};
  const faults: string[] = [];
  for (const kind of stores) {
    live.print(kind);
    const nodes = kind === 'embedded' ? 0 : given.nodes;
    const day = await runDay({ ...given, nodes, live, stop }).finally(() => live.clear());
    days[kind] = day;
    faults.push(...listFaults(day));
    const { days: count, minutes, rate } = given;
    console.log(`${kind}, days: ${count}, ${minutes} minutes each, at most ${rate} requests/s`);
    console.log(describeDay(day));
  }
  writeJson(days);
  return faults.length > 0 ? 1 : 0;
};

export const runDays = defineCommand({
  usage,
  options: { minutes: text, days: text, rate: text, stores: text, nodes: text, seed: text, json: text },
  parse: (given): DaysOptions => ({
    minutes: parseCount('minutes', given.minutes ?? '20', [1, 24 * 60]),
    days: parseCount('days', given.days ?? '3', [1, 100]),
    rate: parseCount('rate', given.rate ?? '250', [10, 5_000]),
    stores: parseKinds(given.stores ?? kinds.join()),
    nodes: parseCount('nodes', given.nodes ?? '2', [1, 8]),
    seed: parseCount('seed', given.seed ?? '1', [0, 1_000_000_000]),
  }),
  run,
});
