/**
 * `feed`: what the feed costs a node, next to bare publish of as many messages of the same size in the same
 * run; how soon a change arrives, on the same node and on another; what followers cost posts; and memory per
 * connection.
 *
 * Node, bare server and followers are processes of their own. CPU is that of the event loop's thread. In a
 * round the same followers are connected all the time. While they get messages, posts go to bots that they
 * follow; in the windows before and after, as many go to bots without followers. So what differs is the
 * feed's, not what a busy machine or a growing store does to all posts.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { type Context, defineCommand, type Report } from '../command.ts';
import { openFollowers, readCounts } from '../feed/followers.ts';
import { createPoster, type OnPosted, type Probe, startProbe } from '../feed/posts.ts';
import { readMemoryBytes, watchTimes } from '../measure/usage.ts';
import { count, names, type Values, word } from '../options.ts';
import { computeSpread, describePercentiles, percentile } from '../report/statistics.ts';
import type { Holder } from '../scenarios/directory.ts';
import { type ServerProcess, startServer } from '../servers/process.ts';
import { openWorld } from '../servers/world.ts';

/** One bot that all follow, or a bot for each follower. */
const shapes = ['one', 'many'] as const;
type Shape = (typeof shapes)[number];

const options = {
  connections: count(10_000, [4, 15_000], 'followers'),
  changes: count(2_000, [1, 5_000], 'posts per second where each follower has a bot of its own'),
  seconds: count(4, [1, 60], 'measured seconds of a window; a node has three per round'),
  rounds: count(3, [0, 100], 'rounds'),
  shape: names(shapes, 'one bot that all follow, or a bot for each: '),
  'two-nodes': count(
    0,
    [0, 600],
    'seconds of posts on one node for a client of another, on Redis and Postgres',
  ),
  profile: word('FOLDER', 'also writes a CPU profile of the node to FOLDER'),
};
type Given = Values<typeof options>;

/** Of the bot that all follow; three times as many go to bots without followers, to time more posts. */
const postsPerSecondOfOne = 50;
const unfollowedPerFollowed = 3;
/** A bot changes so often that each message of it is one interval of the node after the last. */
const messagesPerSecondOfOne = 4;
const messageBytes = 260;
/** The first messages are not changes; the last are on their way. */
const quietMs = 1_000;
/** A node reads a session from SQL again after a minute: that must not happen in one window only. */
const sessionFreshMs = 61_000;

const createFigures = () => ({
  // A value for each round, of microseconds of CPU: per message, per post to a bot without followers.
  node: { one: [] as number[], many: [] as number[] },
  bare: { one: [] as number[], many: [] as number[] },
  post: { one: [] as number[], many: [] as number[] },
  /** Of every message to the probe, not of rounds. */
  delaysMs: [] as number[],
  /** Acknowledgements while messages are sent to all, and while none are; of the bare server, too. */
  ackMs: { followed: [], others: [], bareFollowed: [], bareOthers: [] } as Record<AckWindow, AckTimes[]>,
  bytesPerConnection: 0,
});
type AckWindow = 'followed' | 'others' | 'bareFollowed' | 'bareOthers';
interface AckTimes {
  readonly p50: number;
  readonly p99: number;
}
type Figures = ReturnType<typeof createFigures>;

/** Twice as many bots as connections: the second half has no followers. */
const start = async (given: Given, { live }: Context, figures: Figures) => {
  const world = await openWorld({
    stores: 'embedded',
    bots: 2 * given.connections,
    profileDir: given.profile,
  });
  const [node, poster] = [await world.start(), createPoster()];
  // When the node last read the sessions of all bots; 0: never.
  return { given, live, figures, world, node, poster, ...world.directory, sessionsReadMs: 0 };
};
type Run = Awaited<ReturnType<typeof start>>;

const startFollowers = async (
  run: Run,
  url: string,
  { firstId, shape }: { firstId: string; shape: Shape },
) => {
  const { connections } = run.given;
  const plan = { url, firstId, count: connections, targets: shape === 'one' ? 1 : connections };
  const followers = await openFollowers(run.world, plan, (open) => run.live.show(`${open} followers …`));
  await pause(quietMs);
  return followers;
};

/** What one window took of a server's event loop, and what was sent in it. */
const measure = async ({ poster, given }: Run, server: ServerProcess, followers: ServerProcess) => {
  const read = async () => ({ messages: (await readCounts(followers)).messages, posts: poster.acknowledged });
  const before = await read();
  const readUsed = watchTimes({ servers: [server], stores: null });
  await pause(given.seconds * 1_000);
  const { mainUs: cpuUs } = await readUsed();
  const after = await read();
  return { cpuUs, messages: after.messages - before.messages, posts: after.posts - before.posts };
};
type Used = Awaited<ReturnType<typeof measure>>;

/** Bots that are followed, or as many that are not, and how many posts they get. */
const planPosts = ({ bots, given }: Run, shape: Shape, isFollowed: boolean) => {
  const { connections, changes } = given;
  if (shape === 'many')
    return { perSecond: changes, bots: isFollowed ? bots.slice(0, connections) : bots.slice(connections) };
  const first = (isFollowed ? bots[0] : bots[connections]) as Holder;
  return {
    perSecond: postsPerSecondOfOne * (1 + unfollowedPerFollowed),
    bots: [first, ...bots.slice(connections + 1, connections + 1 + unfollowedPerFollowed)],
  };
};

/** Entities and sessions of all bots are in the node's memory after this, and stay there for a while. */
const warmUp = async (run: Run): Promise<void> => {
  run.live.show('one post of each bot …');
  if (run.sessionsReadMs > 0)
    await pause(Math.max(0, run.sessionsReadMs + sessionFreshMs - performance.now()));
  await run.poster.postAll(run.node.url, run.bots);
  run.sessionsReadMs = performance.now();
};

const addAckTimes = ({ ackMs }: Figures, window: AckWindow, times: readonly number[]): void => {
  ackMs[window].push({ p50: percentile(times, 0.5), p99: percentile(times, 0.99) });
};

const measureNode = async (run: Run, shape: Shape): Promise<void> => {
  const { node, figures, bots, given, poster, world } = run;
  if (shape === 'many' || run.sessionsReadMs === 0) await warmUp(run);
  const firstId = bots[0]?.id ?? '';
  const before = readMemoryBytes([node]);
  const followers = await startFollowers(run, node.url, { firstId, shape });
  figures.bytesPerConnection ||= Math.max(0, (readMemoryBytes([node]) - before) / given.connections);
  const probe: Probe | null =
    shape === 'one' ? await startProbe(node.url, bots.slice(0, 1), figures.delaysMs) : null;
  const ackMs: Record<'followed' | 'others', number[]> = { followed: [], others: [] };
  /** One window with posts, before which they have run for a while. */
  const measureWindow = async (isFollowed: boolean, onPosted: OnPosted): Promise<Used> => {
    const stop = poster.start({ url: node.url, ...planPosts(run, shape, isFollowed) }, onPosted);
    await pause(quietMs);
    const used = await measure(run, node, followers);
    await stop();
    await pause(quietMs);
    return used;
  };
  const takeOthers: OnPosted = (_bot, _servers, ms) => ackMs.others.push(ms);
  const early = await measureWindow(false, takeOthers);
  const followed = await measureWindow(true, (bot, servers, ms) => {
    ackMs.followed.push(ms);
    if (bot.id === firstId) probe?.acknowledge(bot, servers);
  });
  addRound(run, shape, { followed, others: [early, await measureWindow(false, takeOthers)] });
  if (shape === 'one')
    for (const name of ['followed', 'others'] as const) addAckTimes(figures, name, ackMs[name]);
  probe?.close();
  await world.end(followers);
};

const addRound = (
  { figures, live, given }: Run,
  shape: Shape,
  { followed, others }: { readonly followed: Used; readonly others: readonly Used[] },
): void => {
  const sum = (read: (used: Used) => number): number => others.reduce((total, used) => total + read(used), 0);
  const postUs = sum(({ cpuUs }) => cpuUs) / sum(({ posts }) => posts);
  const messageUs = (followed.cpuUs - followed.posts * postUs) / followed.messages;
  figures.post[shape].push(postUs);
  figures.node[shape].push(messageUs);
  live.print(
    `${shape}: node ${(followed.messages / given.seconds).toFixed(0)} messages/s, ` +
      `${messageUs.toFixed(2)} us each; ` +
      `a post ${others.map(({ cpuUs, posts }) => (cpuUs / posts).toFixed(0)).join(' and ')} us`,
  );
};

const measureBare = async (run: Run, shape: Shape): Promise<void> => {
  const { given, figures, live, world } = run;
  const settings = {
    MESSAGE_BYTES: String(messageBytes),
    TOPICS: String(shape === 'one' ? 1 : given.connections),
  };
  const bare = await world.own(startServer({ file: '../programs/bare.ts', settings }));
  const followers = await startFollowers(run, bare.url, { firstId: '0', shape });
  if (shape === 'one') await timeBarePosts(run, bare, 'bareOthers');
  const rate = shape === 'one' ? messagesPerSecondOfOne : given.changes;
  await fetch(`${bare.url}/rate/${rate}`, { method: 'PUT' });
  await pause(quietMs);
  const { cpuUs, messages } = await measure(run, bare, followers);
  if (shape === 'one') await timeBarePosts(run, bare, 'bareFollowed');
  figures.bare[shape].push(cpuUs / messages);
  const perSecond = (messages / given.seconds).toFixed(0);
  live.print(`${shape}: bare ${perSecond} messages/s, ${(cpuUs / messages).toFixed(2)} us each`);
  await Promise.all([world.end(followers), world.end(bare)]);
};

/** Sends the bare server as many posts as a node gets, and times its answers. */
const timeBarePosts = async (run: Run, { url }: ServerProcess, window: AckWindow): Promise<void> => {
  const times: number[] = [];
  const stop = run.poster.start({ ...planPosts(run, 'one', false), url }, (_bot, _servers, ms) =>
    times.push(ms),
  );
  await pause(run.given.seconds * 1_000);
  await stop();
  addAckTimes(run.figures, window, times);
};

/* ------------------------------------------------------ to another node */

const twoNodes = { bots: 20, postsPerSecond: 40, quietMs: 3_000 };

/** From the acknowledgement at one node to the message at the other, of the posts whose message came. */
const measureTwoNodes = async (seconds: number) => {
  const world = await openWorld({ stores: 'redis', bots: twoNodes.bots });
  const { bots } = world.directory;
  const [one, other, poster] = [await world.start(), await world.start(), createPoster()];
  // Until the nodes know each other.
  await pause(twoNodes.quietMs);
  await poster.postAll(one.url, bots);
  const delaysMs: number[] = [];
  const probe = await startProbe(other.url, bots, delaysMs);
  const before = poster.acknowledged;
  const plan = { url: one.url, perSecond: twoNodes.postsPerSecond, bots };
  const stop = poster.start(plan, (bot, servers) => probe.acknowledge(bot, servers));
  await pause(seconds * 1_000);
  await stop();
  // Longer than any message takes.
  await pause(twoNodes.quietMs);
  probe.close();
  poster.close();
  await world.close();
  return { posts: poster.acknowledged - before, delaysMs };
};

/* ---------------------------------------------------------------- report */

const describeShape = ({ node, bare, post }: Figures, shape: Shape): string => {
  const ratios = node[shape].map((value, index) => value / (bare[shape][index] ?? Number.NaN));
  const of = (values: readonly number[]): string => computeSpread(values).median.toFixed(2);
  const what = shape === 'one' ? 'all follow one bot' : 'each follows a bot of its own';
  return (
    `${what}: ${of(node[shape])} us per message, bare publish ${of(bare[shape])}, ratio ${of(ratios)}; ` +
    `a post ${of(post[shape])} us`
  );
};

const describeAcks = ({ ackMs }: Figures): string => {
  const of = (name: AckWindow, share: 'p50' | 'p99'): string =>
    computeSpread(ackMs[name].map((times) => times[share])).median.toFixed(2);
  const list = (share: 'p50' | 'p99'): string =>
    `${share} ${of('others', share)} ms without messages, ${of('followed', share)} while all get some ` +
    `(bare ${of('bareOthers', share)} and ${of('bareFollowed', share)})`;
  return `acknowledgement of a post: ${list('p50')}; ${list('p99')}`;
};

type Delays = Awaited<ReturnType<typeof measureTwoNodes>>;

const describe = (given: Given, figures: Figures, elsewhere: Delays | null): Report => {
  const measured = shapes.filter((shape) => figures.bare[shape].length > 0);
  const parts = [
    `${given.connections} followers, ${given.rounds} rounds, windows of ${given.seconds} s`,
    ...measured.map((shape) => describeShape(figures, shape)),
  ];
  if (measured.includes('one'))
    parts.push(
      `change acknowledged to its message: ${describePercentiles(figures.delaysMs, 1)}`,
      describeAcks(figures),
    );
  if (measured.length > 0)
    parts.push(`memory per idle connection: ${(figures.bytesPerConnection / 1_024).toFixed(1)} KB`);
  if (elsewhere !== null)
    parts.push(
      'change acknowledged on one node to its message on another: ' +
        `${describePercentiles(elsewhere.delaysMs, 1)}; ` +
        `${elsewhere.delaysMs.length} of ${elsewhere.posts} posts shown`,
    );
  return { parts, figures: { ...figures, elsewhere } };
};

const measureRounds = async (given: Given, context: Context, figures: Figures): Promise<void> => {
  const run = await start(given, context, figures);
  for (let round = 1; round <= given.rounds; round++) {
    for (const shape of given.shape) {
      context.live.show(`round ${round}: ${shape} …`);
      await measureNode(run, shape);
      await measureBare(run, shape);
    }
  }
  run.poster.close();
  await run.world.close();
};

export const feed = defineCommand({
  name: 'feed',
  about: 'what 10,000 followers of the feed cost, next to bare publish',
  options,
  run: async (given, context) => {
    const figures = createFigures();
    let elsewhere: Delays | null = null;
    context.report(() => describe(given, figures, elsewhere));
    if (given.rounds > 0) await measureRounds(given, context, figures);
    if (given['two-nodes'] > 0) elsewhere = await measureTwoNodes(given['two-nodes']);
  },
});
