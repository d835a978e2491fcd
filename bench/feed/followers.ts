/**
 * Many connections that follow the feed, as a process of its own (programs/feed-followers.ts), and what they
 * got.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { yieldCores } from '../machine/places.ts';
import { type ServerProcess, startServer } from '../servers/process.ts';
import type { World } from '../servers/world.ts';

interface FollowerPlan {
  readonly url: string;
  readonly count: number;
  /** They follow so many bots in turn, from this one on. */
  readonly targets: number;
  readonly firstId: string;
  /** The network that they connect from, as `127.0.1`; one address if absent. */
  readonly source?: string;
}

interface FollowerCounts {
  readonly open: number;
  readonly messages: number;
  readonly closed: number;
}

/** Rejects when one of their connections was closed. */
export const readCounts = async ({ url }: ServerProcess): Promise<FollowerCounts> => {
  const counts = (await (await fetch(url)).json()) as FollowerCounts;
  if (counts.closed > 0) throw new Error(`${counts.closed} of the followers' connections closed`);
  return counts;
};

/** Resolves when all are open; they end with the world. `onOpen` gets their number meanwhile. */
export const openFollowers = async (
  world: World,
  { url, count, targets, firstId, source = '' }: FollowerPlan,
  onOpen: (open: number) => void,
): Promise<ServerProcess> => {
  const settings = { COUNT: String(count), TARGETS: String(targets), FIRST_ID: firstId, FEED_URL: url };
  const file = '../programs/feed-followers.ts';
  const followers = await world.own(startServer({ file, settings: { ...settings, SOURCE: source } }));
  yieldCores(followers.child.pid ?? 0);
  for (;;) {
    const { open } = await readCounts(followers);
    if (open === count) return followers;
    onOpen(open);
    await pause(200);
  }
};
