/**
 * `followers`: many open connections of the feed, most of them idle: memory of the nodes for each, and what
 * posts beside them wait.
 *
 * A process has descriptors for so many connections only, so several nodes share them, on a Redis and a
 * Postgres. The followers are processes of their own, each with a loopback address of its own.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { type Context, defineCommand, type Report } from '../command.ts';
import { openFollowers, readCounts } from '../feed/followers.ts';
import { createPoster } from '../feed/posts.ts';
import { readMemoryBytes, watchTimes } from '../measure/usage.ts';
import { count, type Values } from '../options.ts';
import { percentile, sumOf } from '../report/statistics.ts';
import { tabulate } from '../report/table.ts';
import type { Holder } from '../scenarios/directory.ts';
import type { ServerProcess } from '../servers/process.ts';
import { openWorld } from '../servers/world.ts';

const options = {
  idle: count(50_000, [1, 200_000], 'connections that follow bots which do not change'),
  active: count(10_000, [1, 200_000], 'connections that get a message every two seconds'),
  nodes: count(4, [1, 16], 'nodes that share them, on a Redis and a Postgres'),
  seconds: count(10, [1, 600], 'measured seconds of each window'),
};

/** Bots whose followers are idle, bots with active followers, and bots without followers. */
const quietBots = 1_000;
const busyBots = 400;
/** Each of the busy bots changes once in two seconds. */
const postsPerSecond = busyBots / 2;
const leadMs = 3_000;
/** What was allocated while connections were opened is collected by then. */
const quietMs = 5_000;

const start = async (given: Values<typeof options>) => {
  const settings = {
    TRUSTED_PROXIES: '127.0.0.0/8',
    FEED_CONNECTIONS_MAX: String(Math.ceil((given.idle + given.active) / given.nodes) + 1_000),
  };
  const world = await openWorld({ stores: 'redis', bots: quietBots + 2 * busyBots, settings });
  for (let node = 0; node < given.nodes; node++) await world.start();
  return { given, world, poster: createPoster(), followers: [] as ServerProcess[] };
};
type Run = Awaited<ReturnType<typeof start>>;

const countFollowers = async ({ followers }: Run) => {
  const all = await Promise.all(followers.map(readCounts));
  return { open: sumOf(all, (one) => one.open), messages: sumOf(all, ({ messages }) => messages) };
};

/** What is open, and what posts of these bots, at every node in turn, and the nodes took meanwhile. */
const measureWindow = async (run: Run, name: string, bots: readonly Holder[]) => {
  const { given, world, poster } = run;
  const { nodes } = world;
  const times: number[] = [];
  let isMeasured = false;
  const perSecond = postsPerSecond / nodes.length;
  const stops = nodes.map(({ url }, node) =>
    poster.start(
      { url, perSecond, bots: bots.filter((_, index) => index % nodes.length === node) },
      (_bot, _servers, ackMs) => {
        if (isMeasured) times.push(ackMs);
      },
    ),
  );
  await pause(leadMs);
  isMeasured = true;
  const before = await countFollowers(run);
  const readUsed = watchTimes({ servers: nodes, stores: null });
  await pause(given.seconds * 1_000);
  const used = await readUsed();
  const { open, messages } = await countFollowers(run);
  await Promise.all(stops.map((stop) => stop()));
  return {
    ...{ name, open, p50Ms: percentile(times, 0.5), p99Ms: percentile(times, 0.99) },
    messagesPerSecond: (messages - before.messages) / given.seconds,
    /** Of one core, all nodes together. */
    coreShare: used.serverUs / (used.seconds * 1_000_000),
    residentBytes: readMemoryBytes(nodes),
  };
};
type Window = Awaited<ReturnType<typeof measureWindow>>;

/** Opens an equal share at each node. Resolves to the seconds that it took. */
const open = async ({ given, world, followers }: Run, what: 'idle' | 'active', { live }: Context) => {
  const begunMs = performance.now();
  const { bots } = world.directory;
  const [targets, first] = what === 'idle' ? [quietBots, bots[0]] : [busyBots, bots[quietBots]];
  const number = Math.ceil(given[what] / world.nodes.length);
  const shown = world.nodes.map(() => 0);
  const opening = world.nodes.map(async ({ url }, node) => {
    const source = `127.${what === 'idle' ? 1 : 2}.${node + 1}`;
    const plan = { url, count: number, targets, firstId: first?.id ?? '', source };
    const opened = await openFollowers(world, plan, (done) => {
      shown[node] = done;
      live.show(`${sumOf(shown, Number)} ${what} connections …`);
    });
    followers.push(opened);
  });
  await Promise.all(opening);
  const seconds = (performance.now() - begunMs) / 1_000;
  await pause(quietMs);
  return seconds;
};

const measureAll = async (run: Run, context: Context) => {
  const { world, poster } = run;
  const { live } = context;
  const { bots } = world.directory;
  const busy = bots.slice(quietBots, quietBots + busyBots);
  const unfollowed = bots.slice(quietBots + busyBots);
  live.show('warming up …');
  for (const { url } of world.nodes) await poster.postAll(url, bots);
  live.show('posts alone …');
  const alone = await measureWindow(run, 'nothing', unfollowed);
  const beforeIdle = readMemoryBytes(world.nodes);
  const idleSeconds = await open(run, 'idle', context);
  const afterIdle = readMemoryBytes(world.nodes);
  live.show('posts beside idle connections …');
  const idle = await measureWindow(run, 'idle', unfollowed);
  const activeSeconds = await open(run, 'active', context);
  live.show('posts beside active connections …');
  const active = await measureWindow(run, 'idle and active', busy);
  return {
    ...{ alone, idle, active },
    openSeconds: { idle: idleSeconds, active: activeSeconds },
    /** Resident memory of the nodes for each connection. */
    bytesPerIdle: (afterIdle - beforeIdle) / idle.open,
    bytesPerActive: (active.residentBytes - idle.residentBytes) / (active.open - idle.open),
  };
};

const describe = ({ given }: Run, figures: Awaited<ReturnType<typeof measureAll>>): Report => {
  const { alone, idle, active, openSeconds, bytesPerIdle, bytesPerActive } = figures;
  const table = tabulate<Window>(
    [alone, idle, active],
    [
      ['posts beside', ({ name }) => name],
      ['open', (window) => window.open],
      ['p50 ms', ({ p50Ms }) => p50Ms, 1],
      ['p99 ms', ({ p99Ms }) => p99Ms, 1],
      ['messages/s', ({ messagesPerSecond }) => messagesPerSecond],
      ['cores', ({ coreShare }) => coreShare, 2],
      ['memory MiB', ({ residentBytes }) => residentBytes / 2 ** 20],
    ],
  );
  const kib = (bytes: number): string => (bytes / 1_024).toFixed(1);
  return {
    parts: [
      `${given.nodes} nodes, ${postsPerSecond} posts/s, windows of ${given.seconds} s`,
      table,
      `memory of the nodes for each idle connection ${kib(bytesPerIdle)} KiB, each active one ` +
        `${kib(bytesPerActive)} KiB; ` +
        `opened in ${openSeconds.idle.toFixed(0)} and ${openSeconds.active.toFixed(0)} s`,
    ],
    figures: { ...given, ...figures },
  };
};

export const followers = defineCommand({
  name: 'followers',
  about: '50,000 idle and 10,000 active connections of the feed beside posts',
  more: `\
Each node and each process of followers needs as many descriptors (ulimit -n) as it has connections, and a
thousand more.`,
  options,
  run: async (given, context) => {
    const run = await start(given);
    const figures = await measureAll(run, context);
    run.poster.close();
    context.report(() => describe(run, figures));
  },
});
