/**
 * `fleet`: what one node uses while nothing happens, and what a request costs when 1, 2, 4 or 8 nodes share
 * it, next to bare servers in the same arrangement.
 *
 * Every size has the same stores and the same directory; nodes are added one after the other.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { type Context, defineCommand, type Report } from '../command.ts';
import { type FleetAnswers, lists, type Routing, routings } from '../load/schedule.ts';
import { type Fleet, measureIdle, measureLoad, type Used } from '../measure/usage.ts';
import { ArgumentError, count, flag, names, parseCount, type Values, word } from '../options.ts';
import { formatFailures } from '../report/rows.ts';
import { tabulate } from '../report/table.ts';
import { votesPerConnectionAndSecond } from '../scenarios/vote.ts';
import { startBareBeside } from '../servers/contestants.ts';
import type { ServerProcess } from '../servers/process.ts';
import { openWorld, type World } from '../servers/world.ts';

const columns = `\
node µs, bare µs   CPU of all nodes for one request, and of as many servers that do nothing but answer
Redis µs, SQL µs   CPU of Redis and of Postgres with all its processes for one request
loads              entities that the nodes read from Redis, per request; random routing needs more
p50, p99           milliseconds from the moment when a request was due to the end of its reply
failed             requests without an answer, or with one other than 2xx`;

const options = {
  nodes: word('LIST', 'numbers of nodes; none: only the idle part (1,2,4,8)'),
  rate: count(1_000, [8, 20_000], 'mixed requests per second to all nodes together'),
  seconds: count(8, [1, 600], 'measured seconds of each size and routing'),
  'idle-seconds': count(
    60,
    [0, 3_600],
    'seconds without any request, at one node and at the largest size; 0: none',
  ),
  embedded: flag('the idle part for one node on its embedded stores'),
  routing: names(routings, 'how a request finds its node (id: by that of the bot): '),
};
type Given = Values<typeof options>;

interface IdleRow {
  readonly nodes: number;
  readonly used: Used;
}
interface LoadRow extends IdleRow {
  readonly routing: Routing;
  readonly rate: number;
  readonly answers: FleetAnswers;
  /** CPU of the bare servers. */
  readonly bareUs: number;
}

const nodesMax = 16;
const warmUpSeconds = 4;
const bots = 1_000;
/** Until all nodes know each other, all that the load left behind is in SQL, and V8 has collected garbage. */
const quietMs = 30_000;

const parseSizes = ({ nodes, embedded }: Given): readonly number[] => {
  const list = nodes ?? (embedded ? 'none' : '1,2,4,8');
  if (embedded && list !== 'none') throw new ArgumentError('--embedded measures one idle node only.');
  if (list === 'none') return [];
  const sizes = list.split(',').map((one) => parseCount('nodes', one, [1, nodesMax]));
  return sizes.sort((one, other) => one - other);
};

interface Run {
  readonly given: Given;
  readonly context: Context;
  readonly world: World;
  readonly bare: ServerProcess[];
  readonly idle: IdleRow[];
  readonly rows: LoadRow[];
  usedSeconds: number;
}

const growTo = async ({ world, bare, context }: Run, size: number): Promise<void> => {
  while (world.nodes.length < size) {
    context.live.show(`starting node ${world.nodes.length + 1} …`);
    const { url } = await world.start();
    bare.push(await world.own(startBareBeside(url, world.directory)));
  }
};

const addIdleRow = async ({ given, context, world, idle }: Run): Promise<void> => {
  const { nodes, stores } = world;
  if (given['idle-seconds'] === 0) return;
  context.live.show(`${nodes.length} idle …`);
  await pause(quietMs);
  const used = await measureIdle({ servers: nodes, stores }, given['idle-seconds']);
  idle.push({ nodes: nodes.length, used });
};

const addLoadRow = async (run: Run, routing: Routing, rate: number): Promise<void> => {
  const { given, world, bare, rows } = run;
  const { nodes, stores, directory } = world;
  const name = `${nodes.length} nodes, ${routing}, ${rate}/s`;
  run.context.live.show(`${name} …`);
  const measure = (fleet: Fleet, seconds: number) => {
    const { usedSeconds } = run;
    run.usedSeconds += seconds;
    return measureLoad(fleet, { scenario: 'mixed', routing, rate, seconds, usedSeconds, directory });
  };
  await measure({ servers: nodes, stores }, warmUpSeconds);
  const { used, answers } = await measure({ servers: nodes, stores }, given.seconds);
  const others = await measure({ servers: bare, stores: null }, given.seconds);
  rows.push({ nodes: nodes.length, routing, rate, used, answers, bareUs: others.used.serverUs });
  run.context.live.print(`${name}: ${(used.serverUs / answers.requests).toFixed(0)} µs`);
};

/** One line for the idle part. */
const describeIdle = ({ nodes, used }: IdleRow): string => {
  const per = (total: number, digits: number): string => (total / used.seconds / nodes).toFixed(digits);
  return (
    `idle, ${nodes} node${nodes === 1 ? '' : 's'}, ${used.seconds.toFixed(0)} s; a second and node: ` +
    `${per(used.serverUs / 10_000, 2)} % of a core, ${per(used.wakeUps, 1)} wake-ups, ` +
    `${per(used.redisCommands, 1)} Redis commands, ${per(used.statements, 2)} SQL statements, ` +
    `Redis ${per(used.redisUs / 1_000, 2)} ms, Postgres ${per(used.postgresUs / 1_000, 2)} ms`
  );
};

const buildTable = (rows: readonly LoadRow[]) =>
  tabulate(rows, [
    ['routing', ({ routing }) => routing],
    ['nodes', ({ nodes }) => nodes],
    ['rate', ({ rate }) => rate],
    ['node µs', ({ used, answers }) => used.serverUs / answers.requests],
    ['bare µs', ({ bareUs, answers }) => bareUs / answers.requests],
    ['Redis µs', ({ used, answers }) => used.redisUs / answers.requests],
    ['SQL µs', ({ used, answers }) => used.postgresUs / answers.requests],
    ['loads', ({ used, answers }) => used.loads / answers.sent, 2],
    ['p50', ({ answers }) => answers.p50Ms, 1],
    ['p99', ({ answers }) => answers.p99Ms, 1],
    ['failed', ({ answers }) => answers.failed],
  ]);

const describe = ({ idle, rows }: Run): Report => ({
  parts: [
    ...idle.map(describeIdle),
    ...(rows.length === 0 ? [] : [buildTable(rows), columns]),
    ...rows
      .filter(({ answers }) => answers.failed > 0)
      .map(
        ({ nodes, routing, rate, answers }) =>
          `Failed, ${nodes} nodes, ${routing}, ${rate}/s: ${formatFailures(answers.failures)}.`,
      ),
  ],
  figures: { idle, rows },
});

const measureAll = async (run: Run, sizes: readonly number[]): Promise<void> => {
  const { given } = run;
  const most = sizes.at(-1) ?? 1;
  for (const size of sizes.length === 0 ? [1] : sizes) {
    await growTo(run, size);
    if (size === 1 || size === most) await addIdleRow(run);
    if (sizes.length === 0) return;
    for (const routing of given.routing) await addLoadRow(run, routing, given.rate);
    // The rate that each node of the largest size has.
    if (size === 1 && most > 1)
      await addLoadRow(run, given.routing[0] as Routing, Math.ceil(given.rate / most));
  }
};

/** Users enough for all rows: none votes twice for a bot. */
const countUsers = ({ routing, seconds }: Given, sizes: readonly number[]): number => {
  const rows = sizes.length * routing.length + 1;
  const votes = rows * (warmUpSeconds + 2 * seconds) * votesPerConnectionAndSecond;
  return lists * (1 + Math.ceil(votes / bots));
};

export const fleet = defineCommand({
  name: 'fleet',
  about: 'one node idle for a minute; 1, 2, 4 and 8 nodes share the load',
  more: 'A node beside a bare server, both with the same mixed requests: see bench/README.md, Several nodes.',
  options,
  run: async (given, context) => {
    const sizes = parseSizes(given);
    const stores = given.embedded ? 'embedded' : 'redis';
    const world = await openWorld({ stores, bots, users: countUsers(given, sizes) });
    const run: Run = { given, context, world, bare: [], idle: [], rows: [], usedSeconds: 0 };
    context.report(() => describe(run));
    await measureAll(run, sizes);
  },
});
