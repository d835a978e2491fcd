/**
 * `npm run bench -- followers`: many open connections of the feed, most of them idle: memory of the nodes for
 * each, and what posts beside them wait.
 *
 * A process has descriptors for so many connections only, so several nodes share them, on a Redis and a
 * Postgres. The followers are processes of their own, each with a loopback address of its own.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { parseCount, text } from '../arguments.ts';
import { openFollowers, readCounts } from '../feed/followers.ts';
import { createPoster, type Poster } from '../feed/posts.ts';
import { readProcessUs, readResidentBytes } from '../machine/cpu.ts';
import type { Live } from '../report/live.ts';
import { percentile } from '../report/statistics.ts';
import { alignColumns } from '../report/text.ts';
import { createDirectory, type Holder } from '../scenarios/directory.ts';
import type { ServerProcess } from '../servers/process.ts';
import { createFolder, importDirectory, startOn } from '../servers/rollcall.ts';
import { openStores } from '../servers/stores.ts';
import { type CommandContext, defineCommand, interruptedCode } from './command.ts';

const usage = `Usage: npm run bench -- followers [options]

Opens idle connections of the feed, then active ones, beside 200 posts a second. Each node and each process of
followers needs as many descriptors (ulimit -n) as it has connections, and a thousand more.

  --idle N       connections that follow bots which do not change (50000)
  --active N     connections that get a message every two seconds (10000)
  --nodes N      nodes that share them, on a Redis and a Postgres (4)
  --seconds N    measured seconds of each window (10)
  --json FILE    also writes the figures to FILE
`;

interface FollowersOptions {
  readonly idle: number;
  readonly active: number;
  readonly nodes: number;
  readonly seconds: number;
}

/** Bots whose followers are idle, bots with active followers, and bots without followers. */
const quietBots = 1_000;
const busyBots = 400;
/** Each of the busy bots changes once in two seconds. */
const postsPerSecond = busyBots / 2;
const leadMs = 3_000;
/** What was allocated while connections were opened is collected by then. */
const quietMs = 5_000;

interface World extends FollowersOptions {
  readonly servers: readonly ServerProcess[];
  readonly followers: ServerProcess[];
  readonly poster: Poster;
  readonly bots: readonly Holder[];
  readonly live: Live;
}

/** One window: what is open, and what posts and nodes took meanwhile. */
interface Window {
  readonly open: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly messagesPerSecond: number;
  /** Of one core, all nodes together. */
  readonly coreShare: number;
  readonly residentBytes: number;
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

const readNodes = ({ servers }: World, read: (pid: number) => number): number =>
  sum(servers.map(({ child }) => read(child.pid ?? 0)));

const countFollowers = async ({ followers }: World) => {
  const counts = await Promise.all(followers.map(readCounts));
  const closed = sum(counts.map((one) => one.closed));
  if (closed > 0) throw new Error(`${closed} of the followers' connections closed`);
  return { open: sum(counts.map(({ open }) => open)), messages: sum(counts.map(({ messages }) => messages)) };
};

/** Posts of these bots, at every node in turn. */
const measureWindow = async (world: World, bots: readonly Holder[]): Promise<Window> => {
  const { servers, poster, seconds } = world;
  const times: number[] = [];
  let counts = false;
  const perSecond = postsPerSecond / servers.length;
  const stops = servers.map(({ url }, node) =>
    poster.start(
      { url, perSecond, bots: bots.filter((_, index) => index % servers.length === node) },
      (_bot, _servers, ackMs) => {
        if (counts) times.push(ackMs);
      },
    ),
  );
  await pause(leadMs);
  counts = true;
  const before = { ...(await countFollowers(world)), cpuUs: readNodes(world, readProcessUs) };
  await pause(seconds * 1_000);
  const cpuUs = readNodes(world, readProcessUs) - before.cpuUs;
  const { open, messages } = await countFollowers(world);
  await Promise.all(stops.map((stop) => stop()));
  return {
    open,
    p50Ms: percentile(times, 0.5),
    p99Ms: percentile(times, 0.99),
    messagesPerSecond: (messages - before.messages) / seconds,
    coreShare: cpuUs / (seconds * 1_000_000),
    residentBytes: readNodes(world, readResidentBytes),
  };
};

/** Opens an equal share at each node. Resolves to the seconds that it took. */
const open = async (world: World, what: 'idle' | 'active'): Promise<number> => {
  const { servers, followers, bots, live } = world;
  const begunMs = performance.now();
  const [targets, first] = what === 'idle' ? [quietBots, bots[0]] : [busyBots, bots[quietBots]];
  const count = Math.ceil(world[what] / servers.length);
  const shown = servers.map(() => 0);
  const opening = servers.map(async ({ url }, node) => {
    const source = `127.${what === 'idle' ? 1 : 2}.${node + 1}`;
    const plan = { url, count, targets, firstId: first?.id ?? '', source };
    followers.push(
      await openFollowers(plan, (done) => {
        shown[node] = done;
        live.show(`${sum(shown)} ${what} connections …`);
      }),
    );
  });
  await Promise.all(opening);
  const seconds = (performance.now() - begunMs) / 1_000;
  await pause(quietMs);
  return seconds;
};

interface FollowerFigures {
  readonly alone: Window;
  readonly idle: Window;
  readonly active: Window;
  readonly openSeconds: { readonly idle: number; readonly active: number };
  /** Resident memory of the nodes for each connection. */
  readonly bytesPerIdle: number;
  readonly bytesPerActive: number;
}

const measureAll = async (world: World): Promise<FollowerFigures> => {
  const { servers, poster, bots, live } = world;
  const busy = bots.slice(quietBots, quietBots + busyBots);
  const unfollowed = bots.slice(quietBots + busyBots);
  live.show('warming up …');
  for (const { url } of servers) await poster.postAll(url, bots);
  live.show('posts alone …');
  const alone = await measureWindow(world, unfollowed);
  const beforeIdle = readNodes(world, readResidentBytes);
  const idleSeconds = await open(world, 'idle');
  const afterIdle = readNodes(world, readResidentBytes);
  live.show('posts beside idle connections …');
  const idle = await measureWindow(world, unfollowed);
  const activeSeconds = await open(world, 'active');
  live.show('posts beside active connections …');
  const active = await measureWindow(world, busy);
  return {
    ...{ alone, idle, active },
    openSeconds: { idle: idleSeconds, active: activeSeconds },
    bytesPerIdle: (afterIdle - beforeIdle) / idle.open,
    bytesPerActive: (active.residentBytes - idle.residentBytes) / (active.open - idle.open),
  };
};

/** Resolves to `null` when the signal came first. */
const measureFollowers = async (
  options: FollowersOptions,
  { live, stopped }: CommandContext,
): Promise<FollowerFigures | null> => {
  const directory = createDirectory({ bots: quietBots + 2 * busyBots, users: 1 });
  const stores = await openStores('redis', false);
  const folder = createFolder();
  const servers: ServerProcess[] = [];
  const followers: ServerProcess[] = [];
  const poster = createPoster();
  try {
    live.show('importing …');
    await importDirectory(folder, { directory, stores: stores.rollcall });
    const settings = {
      TRUSTED_PROXIES: '127.0.0.0/8',
      FEED_CONNECTIONS_MAX: String(Math.ceil((options.idle + options.active) / options.nodes) + 1_000),
    };
    for (let count = 0; count < options.nodes; count++)
      servers.push(await startOn(folder, { profileDir: null, stores: stores.rollcall }, settings));
    const world = { ...options, servers, followers, poster, bots: directory.bots, live };
    return await Promise.race([measureAll(world), stopped]);
  } finally {
    live.clear();
    poster.close();
    await Promise.all(followers.map((one) => one.kill()));
    await Promise.all(servers.map((server) => server.stop()));
    await stores.close();
    folder.remove();
  }
};

/* ---------------------------------------------------------------------- report */

const describe = (options: FollowersOptions, figures: FollowerFigures): string => {
  const { alone, idle, active, openSeconds, bytesPerIdle, bytesPerActive } = figures;
  const row = (name: string, window: Window): readonly string[] => [
    name,
    String(window.open),
    window.p50Ms.toFixed(1),
    window.p99Ms.toFixed(1),
    window.messagesPerSecond.toFixed(0),
    window.coreShare.toFixed(2),
    (window.residentBytes / 2 ** 20).toFixed(0),
  ];
  const table = alignColumns({
    head: ['posts beside', 'open', 'p50 ms', 'p99 ms', 'messages/s', 'cores', 'memory MiB'],
    rows: [row('nothing', alone), row('idle', idle), row('idle and active', active)],
    textColumns: 1,
  });
  const kib = (bytes: number): string => (bytes / 1_024).toFixed(1);
  const seconds = (value: number): string => value.toFixed(0);
  return (
    `${options.nodes} nodes, ${postsPerSecond} posts/s, windows of ${options.seconds} s\n\n${table}\n\n` +
    `memory of the nodes for each idle connection ${kib(bytesPerIdle)} KiB, each active one ` +
    `${kib(bytesPerActive)} KiB; opened in ${seconds(openSeconds.idle)} and ${seconds(openSeconds.active)} s`
  );
};

/** Prints what was measured. Resolves to the exit code. */
const run = async (options: FollowersOptions, context: CommandContext): Promise<number> => {
  const figures = await measureFollowers(options, context);
  if (figures === null) return interruptedCode;
  console.log(describe(options, figures));
  context.writeJson({ ...options, ...figures });
  return 0;
};

export const runFollowers = defineCommand({
  usage,
  options: { idle: text, active: text, nodes: text, seconds: text, json: text },
  parse: (given): FollowersOptions => ({
    idle: parseCount('idle', given.idle ?? '50000', [1, 200_000]),
    active: parseCount('active', given.active ?? '10000', [1, 200_000]),
    nodes: parseCount('nodes', given.nodes ?? '4', [1, 16]),
    seconds: parseCount('seconds', given.seconds ?? '10', [1, 600]),
  }),
  run,
});
