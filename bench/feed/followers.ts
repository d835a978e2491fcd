/**
 * Many connections that follow the feed, as a process of its own (subscribers.ts), and what they got.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { yieldCores } from '../machine/places.ts';
import { type ServerProcess, startServer } from '../servers/process.ts';

export interface FollowerPlan {
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

export const readCounts = async ({ url }: ServerProcess): Promise<FollowerCounts> =>
  (await (await fetch(url)).json()) as FollowerCounts;

/** Resolves when all are open; rejects when one was closed. `onOpen` gets their number meanwhile. */
export const openFollowers = async (
  { url, count, targets, firstId, source = '' }: FollowerPlan,
  onOpen: (open: number) => void,
): Promise<ServerProcess> => {
  const followers = await startServer({
    file: '../feed/subscribers.ts',
    settings: {
      COUNT: String(count),
      TARGETS: String(targets),
      FIRST_ID: firstId,
      FEED_URL: url,
      SOURCE: source,
    },
  });
  yieldCores(followers.child.pid ?? 0);
  for (;;) {
    const { open, closed } = await readCounts(followers);
    if (closed > 0) throw new Error(`${closed} of the followers' connections closed`);
    if (open === count) return followers;
    onOpen(open);
    await pause(200);
  }
};
