/**
 * `npm run bench -- fleet`: what one node uses while nothing happens, and what a request costs when 1, 2, 4
 * or 8 nodes share it, next to bare servers in the same arrangement.
 *
 * Every size has the same stores and the same directory; nodes are added one after the other. Ctrl-C ends the
 * servers and reports what was measured.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { ArgumentError, flag, parseCount, text } from '../arguments.ts';
import { type Fleet, measureIdle, measureLoad, type Used } from '../fleet/measure.ts';
import { type FleetAnswers, lists, type Routing, routings } from '../load/schedule.ts';
import { describeMachine } from '../machine/machine.ts';
import type { Live } from '../report/live.ts';
import { describeBusyMachine, formatFailures } from '../report/tables.ts';
import { alignColumns } from '../report/text.ts';
import { createDirectory, type Directory } from '../scenarios/directory.ts';
import { votesPerConnectionAndSecond } from '../scenarios/vote.ts';
import { readBodySizes } from '../servers/contestants.ts';
import type { ServerProcess } from '../servers/process.ts';
import { createFolder, type Folder, importDirectory, startBare, startOn } from '../servers/rollcall.ts';
import { openStores, type Stores } from '../servers/stores.ts';
import { type CommandContext, defineCommand, interruptedCode, type OptionValues } from './command.ts';

const usage = `Usage: npm run bench -- fleet [options]

  --nodes LIST          numbers of nodes (1,2,4,8); none: only the idle part
  --rate N              mixed requests per second to all nodes together (1000)
  --seconds S           measured seconds of each size and routing (8)
  --idle-seconds S      seconds without any request, at one node and at the largest size (60); 0: none
  --embedded            the idle part for one node on its embedded stores
  --routing NAME        random, id (the id of the bot selects the node); default both
  --json FILE           also writes the figures to FILE

A node beside a bare server, both with the same mixed requests: see bench/README.md, Several nodes.
`;

const columns = `
node µs, bare µs   CPU of all nodes for one request, and of as many servers that do nothing but answer
Redis µs, SQL µs   CPU of Redis and of Postgres with all its processes for one request
loads              entities that the nodes read from Redis, per request; random routing needs more
p50, p99           milliseconds from the moment when a request was due to the end of its reply
failed             requests without an answer, or with one other than 2xx`;

interface FleetOptions {
  readonly nodes: readonly number[];
  readonly rate: number;
  readonly seconds: number;
  readonly idleSeconds: number;
  readonly embedded: boolean;
  readonly routings: readonly Routing[];
}

interface IdleRow {
  readonly nodes: number;
  readonly used: Used;
}
interface LoadRow {
  readonly nodes: number;
  readonly routing: Routing;
  readonly rate: number;
  readonly used: Used;
  readonly answers: FleetAnswers;
  /** CPU of the bare servers. */
  readonly bareUs: number;
}

const nodesMax = 16;
const warmUpSeconds = 4;
const bots = 1_000;
/** Until all nodes know each other, all that the load left behind is in SQL, and V8 has collected garbage. */
const quietMs = 30_000;

const options = {
  ...{ nodes: text, rate: text, seconds: text, routing: text, json: text },
  ...{ embedded: flag, 'idle-seconds': text },
};

const parse = (given: OptionValues<typeof options>): FleetOptions => {
  const { routing = '', embedded = false } = given;
  const { nodes = embedded ? 'none' : '1,2,4,8' } = given;
  if (embedded && nodes !== 'none') throw new ArgumentError('--embedded measures one idle node only.');
  if (routing !== '' && !(routings as readonly string[]).includes(routing))
    throw new ArgumentError(`--routing is "${routing}" but must be one of ${routings.join(', ')}.`);
  return {
    nodes:
      nodes === 'none'
        ? []
        : nodes
            .split(',')
            .map((word) => parseCount('nodes', word, [1, nodesMax]))
            .sort((one, other) => one - other),
    rate: parseCount('rate', given.rate ?? '1000', [8, 20_000]),
    seconds: parseCount('seconds', given.seconds ?? '8', [1, 600]),
    idleSeconds: parseCount('idle-seconds', given['idle-seconds'] ?? '60', [0, 3_600]),
    embedded,
    routings: routing === '' ? routings : [routing as Routing],
  };
};

interface World {
  readonly options: FleetOptions;
  readonly live: Live;
  readonly stores: Stores;
  readonly directory: Directory;
  readonly folder: Folder;
  readonly nodes: ServerProcess[];
  readonly bare: ServerProcess[];
  readonly idle: IdleRow[];
  readonly rows: LoadRow[];
  usedSeconds: number;
}

const growTo = async (world: World, count: number): Promise<void> => {
  while (world.nodes.length < count) {
    world.live.show(`starting node ${world.nodes.length + 1} …`);
    const node = await startOn(world.folder, { profileDir: null, stores: world.stores.rollcall });
    world.nodes.push(node);
    world.bare.push(await startBare(await readBodySizes(node.url, world.directory)));
  }
};

const addIdleRow = async (world: World): Promise<void> => {
  const { options, live, nodes, stores } = world;
  if (options.idleSeconds === 0) return;
  live.show(`${nodes.length} idle …`);
  await pause(quietMs);
  const used = await measureIdle({ servers: nodes, stores }, options.idleSeconds);
  world.idle.push({ nodes: nodes.length, used });
  live.print(describeIdle({ nodes: nodes.length, used }));
};

const addLoadRow = async (world: World, routing: Routing, rate: number): Promise<void> => {
  const { options, live, directory, stores, nodes, bare } = world;
  live.show(`${nodes.length} nodes, ${routing}, ${rate}/s …`);
  const measure = (fleet: Fleet, seconds: number) => {
    const { usedSeconds } = world;
    world.usedSeconds += seconds;
    return measureLoad(fleet, { scenario: 'mixed', routing, rate, seconds, usedSeconds, directory });
  };
  await measure({ servers: nodes, stores }, warmUpSeconds);
  const { used, answers } = await measure({ servers: nodes, stores }, options.seconds);
  const others = await measure({ servers: bare, stores: null }, options.seconds);
  const bareUs = others.used.serverUs;
  world.rows.push({ nodes: nodes.length, routing, rate, used, answers, bareUs });
  live.print(`${nodes.length} nodes, ${routing}, ${rate}/s: ${perRequest(used.serverUs, answers)} µs`);
};

const perRequest = (us: number, { requests }: FleetAnswers): string => (us / requests).toFixed(0);

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

const buildTable = (rows: readonly LoadRow[]) => ({
  head: [
    'routing',
    'nodes',
    'rate',
    'node µs',
    'bare µs',
    'Redis µs',
    'SQL µs',
    'loads',
    'p50',
    'p99',
    'failed',
  ],
  textColumns: 1,
  rows: rows.map(({ routing, nodes, rate, used, answers, bareUs }) => [
    routing,
    String(nodes),
    String(rate),
    perRequest(used.serverUs, answers),
    perRequest(bareUs, answers),
    perRequest(used.redisUs, answers),
    perRequest(used.postgresUs, answers),
    (used.loads / answers.sent).toFixed(2),
    answers.p50Ms.toFixed(1),
    answers.p99Ms.toFixed(1),
    String(answers.failed),
  ]),
});

const measureAll = async (world: World): Promise<void> => {
  const { options } = world;
  const most = options.nodes.at(-1) ?? 1;
  const sizes = options.nodes.length === 0 ? [1] : options.nodes;
  for (const count of sizes) {
    await growTo(world, count);
    if (count === 1 || count === most) await addIdleRow(world);
    if (options.nodes.length === 0) return;
    for (const routing of options.routings) await addLoadRow(world, routing, options.rate);
    // The rate that each node of the largest size has.
    if (count === 1 && most > 1)
      await addLoadRow(world, options.routings[0] as Routing, Math.ceil(options.rate / most));
  }
};

/** Users enough for all rows: none votes twice for a bot. */
const countUsers = ({ nodes, routings, seconds }: FleetOptions): number => {
  const rows = nodes.length * routings.length + 1;
  const votes = rows * (warmUpSeconds + 2 * seconds) * votesPerConnectionAndSecond;
  return lists * (1 + Math.ceil(votes / bots));
};

const describeRows = ({ idle, rows }: World): string[] => [
  ...idle.map(describeIdle),
  ...(rows.length === 0 ? [] : ['', alignColumns(buildTable(rows)), columns]),
  ...rows
    .filter(({ answers }) => answers.failed > 0)
    .map(
      ({ nodes, routing, rate, answers }) =>
        `Failed, ${nodes} nodes, ${routing}, ${rate}/s: ${formatFailures(answers.failures)}.`,
    ),
];

/** Prints what was measured, also when something failed. Resolves to the exit code. */
const run = async (options: FleetOptions, context: CommandContext): Promise<number> => {
  const { live, stop, stopped, writeJson } = context;
  const directory = createDirectory({ bots, users: countUsers(options) });
  const stores = await openStores(options.embedded ? 'embedded' : 'redis', false);
  const empty = { nodes: [], bare: [], idle: [], rows: [] };
  const folder = createFolder();
  const world: World = { options, live, stores, directory, folder, ...empty, usedSeconds: 0 };
  const machine = describeMachine();
  const measured = async (): Promise<void> => {
    await importDirectory(folder, { directory, stores: stores.rollcall });
    await Promise.race([measureAll(world), stopped]);
  };
  const failure = await measured().then(
    () => null,
    (error: unknown) => ({ error }),
  );
  live.clear();
  await Promise.all([...world.nodes, ...world.bare].map((server) => server.stop()));
  await stores.close();
  folder.remove();
  console.log([...describeRows(world), ...describeBusyMachine(machine)].join('\n'));
  writeJson({ machine, idle: world.idle, rows: world.rows });
  if (failure !== null && !stop.aborted) throw failure.error;
  return stop.aborted ? interruptedCode : 0;
};

export const runFleet = defineCommand({ usage, options, parse, run });
