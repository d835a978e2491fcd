/**
 * One round of the feed command: what messages cost a node and a bare server, and what they cost the posts.
 *
 * In a round the same followers are connected all the time. While they get messages, posts go to bots that
 * they follow; in the windows before and after, as many go to bots without followers. So what differs is
 * the feed's, not what a busy machine or a growing store does to all posts.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { readCpuTime, readResidentBytes } from '../machine/cpu.ts';
import type { Live } from '../report/live.ts';
import { percentile } from '../report/statistics.ts';
import type { Directory, Holder } from '../scenarios/directory.ts';
import { type ServerProcess, startServer } from '../servers/process.ts';
import { openFollowers, readCounts } from './followers.ts';
import { type OnPosted, type Poster, type Probe, startProbe } from './posts.ts';

/** One bot that all follow, or a bot for each follower. */
export type Shape = 'one' | 'many';
export const shapes: readonly Shape[] = ['one', 'many'];

/** A value for each round. */
export interface Figures {
  /** Microseconds of CPU per message. */
  readonly node: Record<Shape, number[]>;
  readonly bare: Record<Shape, number[]>;
  /** Microseconds of CPU per post to a bot without followers. */
  readonly post: Record<Shape, number[]>;
  /** Of every message to the probe, not of rounds. */
  readonly delaysMs: number[];
  /** Acknowledgements while messages are sent to all, and while none are; of the bare server, too. */
  readonly ackMs: Record<AckWindow, AckTimes[]>;
  bytesPerConnection: number;
}

type AckWindow = 'followed' | 'others' | 'bareFollowed' | 'bareOthers';

/** Median and 99th percentile. */
interface AckTimes {
  readonly p50: number;
  readonly p99: number;
}

export interface FeedWorld {
  readonly connections: number;
  /** Posts per second where each follower has a bot of its own. */
  readonly changes: number;
  readonly seconds: number;
  readonly live: Live;
  /** Twice as many bots as connections: the second half has no followers. */
  readonly directory: Directory;
  readonly node: ServerProcess;
  readonly poster: Poster;
  readonly figures: Figures;
  /** When the node last read the sessions of all bots, by `performance.now()`; 0: never. */
  sessionsReadMs: number;
}

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

const startFollowers = async (
  { connections, live }: FeedWorld,
  { shape, ...about }: { readonly url: string; readonly firstId: string; readonly shape: Shape },
): Promise<ServerProcess> => {
  const targets = shape === 'one' ? 1 : connections;
  const followers = await openFollowers({ ...about, count: connections, targets }, (open) =>
    live.show(`${open} followers …`),
  );
  await pause(quietMs);
  return followers;
};

interface Used {
  /** Of the server's event loop. */
  readonly cpuUs: number;
  readonly messages: number;
  readonly posts: number;
}

const measure = async (
  { poster, seconds }: FeedWorld,
  server: ServerProcess,
  followers: ServerProcess,
): Promise<Used> => {
  const read = async (): Promise<Used> => ({
    messages: (await readCounts(followers)).messages,
    cpuUs: (await readCpuTime(server.child)).mainUs,
    posts: poster.acknowledged,
  });
  const before = await read();
  await pause(seconds * 1_000);
  const after = await read();
  return {
    messages: after.messages - before.messages,
    cpuUs: after.cpuUs - before.cpuUs,
    posts: after.posts - before.posts,
  };
};

/** Bots that are followed, or as many that are not, and how many posts they get. */
const planPosts = ({ directory, connections, changes }: FeedWorld, shape: Shape, isFollowed: boolean) => {
  const { bots } = directory;
  if (shape === 'many')
    return {
      perSecond: changes,
      bots: isFollowed ? bots.slice(0, connections) : bots.slice(connections),
    };
  const first = (isFollowed ? bots[0] : bots[connections]) as Holder;
  return {
    perSecond: postsPerSecondOfOne * (1 + unfollowedPerFollowed),
    bots: [first, ...bots.slice(connections + 1, connections + 1 + unfollowedPerFollowed)],
  };
};

/** One window with posts, before which they have run for a while. */
const measureWindow = async (
  world: FeedWorld,
  about: { readonly followers: ServerProcess; readonly shape: Shape; readonly isFollowed: boolean },
  onPosted: OnPosted,
): Promise<Used> => {
  const { followers, shape, isFollowed } = about;
  const { url } = world.node;
  const stop = world.poster.start({ url, ...planPosts(world, shape, isFollowed) }, onPosted);
  await pause(quietMs);
  const used = await measure(world, world.node, followers);
  await stop();
  await pause(quietMs);
  return used;
};

/** Entities and sessions of all bots are in the node's memory after this, and stay there for a while. */
const warmUp = async (world: FeedWorld): Promise<void> => {
  const { live, poster, node, directory, sessionsReadMs } = world;
  live.show('one post of each bot …');
  if (sessionsReadMs > 0) await pause(Math.max(0, sessionsReadMs + sessionFreshMs - performance.now()));
  await poster.postAll(node.url, directory.bots);
  world.sessionsReadMs = performance.now();
};

const readResident = ({ node }: FeedWorld): number => readResidentBytes(node.child.pid ?? 0);

export const measureNode = async (world: FeedWorld, shape: Shape): Promise<void> => {
  const { node, figures, directory, connections } = world;
  if (shape === 'many' || world.sessionsReadMs === 0) await warmUp(world);
  const firstId = directory.bots[0]?.id ?? '';
  const before = readResident(world);
  const followers = await startFollowers(world, { url: node.url, firstId, shape });
  let probe: Probe | null = null;
  try {
    figures.bytesPerConnection ||= Math.max(0, (readResident(world) - before) / connections);
    if (shape === 'one') probe = await startProbe(node.url, directory.bots.slice(0, 1), figures.delaysMs);
    const ackMs: Record<'followed' | 'others', number[]> = { followed: [], others: [] };
    const about = { followers, shape };
    const takeOthers: OnPosted = (_bot, _servers, ms) => ackMs.others.push(ms);
    const early = await measureWindow(world, { ...about, isFollowed: false }, takeOthers);
    const followed = await measureWindow(world, { ...about, isFollowed: true }, (bot, servers, ms) => {
      ackMs.followed.push(ms);
      if (bot.id === firstId) probe?.acknowledge(bot, servers);
    });
    const late = await measureWindow(world, { ...about, isFollowed: false }, takeOthers);
    addRound(world, shape, { followed, others: [early, late] });
    if (shape === 'one') {
      addAckTimes(figures, 'followed', ackMs.followed);
      addAckTimes(figures, 'others', ackMs.others);
    }
  } finally {
    probe?.close();
    await followers.stop();
  }
};

const addRound = (
  { figures, live, seconds }: FeedWorld,
  shape: Shape,
  { followed, others }: { readonly followed: Used; readonly others: readonly Used[] },
): void => {
  const sum = (count: (used: Used) => number): number =>
    others.reduce((total, used) => total + count(used), 0);
  const postUs = sum(({ cpuUs }) => cpuUs) / sum(({ posts }) => posts);
  const messageUs = (followed.cpuUs - followed.posts * postUs) / followed.messages;
  figures.post[shape].push(postUs);
  figures.node[shape].push(messageUs);
  const perSecond = (followed.messages / seconds).toFixed(0);
  live.print(
    `${shape}: node ${perSecond} messages/s, ${messageUs.toFixed(2)} us each; a post ` +
      `${others.map(({ cpuUs, posts }) => (cpuUs / posts).toFixed(0)).join(' and ')} us`,
  );
};

const addAckTimes = ({ ackMs }: Figures, window: AckWindow, times: readonly number[]): void => {
  ackMs[window].push({ p50: percentile(times, 0.5), p99: percentile(times, 0.99) });
};

export const measureBare = async (world: FeedWorld, shape: Shape): Promise<void> => {
  const { connections, changes, figures, live, seconds } = world;
  const topics = shape === 'one' ? 1 : connections;
  const settings = { BYTES: String(messageBytes), TOPICS: String(topics) };
  const bare = await startServer({ file: '../feed/bare.ts', settings });
  try {
    const followers = await startFollowers(world, { url: bare.url, firstId: '0', shape });
    try {
      if (shape === 'one') await timeBarePosts(world, bare, 'bareOthers');
      const rate = shape === 'one' ? messagesPerSecondOfOne : changes;
      await fetch(`${bare.url}/rate/${rate}`, { method: 'PUT' });
      await pause(quietMs);
      const { cpuUs, messages } = await measure(world, bare, followers);
      if (shape === 'one') await timeBarePosts(world, bare, 'bareFollowed');
      figures.bare[shape].push(cpuUs / messages);
      const perSecond = (messages / seconds).toFixed(0);
      live.print(`${shape}: bare ${perSecond} messages/s, ${(cpuUs / messages).toFixed(2)} us each`);
    } finally {
      await followers.stop();
    }
  } finally {
    await bare.stop();
  }
};

/** Sends the bare server as many posts as a node gets, and times its answers. */
const timeBarePosts = async (
  world: FeedWorld,
  { url }: ServerProcess,
  window: 'bareOthers' | 'bareFollowed',
): Promise<void> => {
  const times: number[] = [];
  const stop = world.poster.start({ ...planPosts(world, 'one', false), url }, (_bot, _servers, ms) =>
    times.push(ms),
  );
  await pause(world.seconds * 1_000);
  await stop();
  addAckTimes(world.figures, window, times);
};
