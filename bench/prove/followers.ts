/**
 * Follows the driven bots live while they are driven, and keeps what came: every vote's number, and what the
 * totals showed. One connection, which comes back at another address when it breaks.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { type FollowMessage, follow } from '../../http/client/follow.ts';
import { nowMs } from './client-log.ts';
import type { ProveLog } from './prove-log.ts';
import { readParts } from './shards.ts';
import { addPartSights } from './sights.ts';
import type { Listing, Subject } from './subject.ts';

/** What came of one bot. */
export interface Followed {
  /** Numbers of its votes that came, or were inside a gap. */
  readonly numbers: Set<number>;
  /** Numbers that came twice. */
  readonly repeated: number[];
  /** The newest totals; `null` before the first. */
  totals: Readonly<Record<string, number>> | null;
  /** Its log began again: its numbers say nothing. */
  isReset: boolean;
}
const startMsMax = 20_000;

/** Begins to follow; resolves when the totals of every bot have come. */
export const startFollower = async (subject: Subject, log: ProveLog) => {
  const listings = new Map(subject.listings.map((listing) => [`bot/${listing.id}`, listing]));
  const followed = new Map<string, Followed>();
  for (const target of listings.keys())
    followed.set(target, { numbers: new Set(), repeated: [], totals: null, isReset: false });
  const stopping = new AbortController();
  const running = run(subject, stopping.signal, (message) => {
    const { target = '' } = message.data;
    const state = followed.get(target);
    if (state !== undefined) take(log, { state, listing: listings.get(target) as Listing }, message);
  });
  const endMs = nowMs() + startMsMax;
  while ([...followed.values()].some(({ totals }) => totals === null)) {
    if (nowMs() > endMs) throw new Error(`the feed of ${subject.urls[0]} does not begin`);
    await Promise.race([sleep(20), running]);
  }
  return {
    followed: followed as ReadonlyMap<string, Followed>,
    stop: async (): Promise<void> => {
      stopping.abort();
      await running;
    },
  };
};
export type Follower = Awaited<ReturnType<typeof startFollower>>;

const run = async (
  subject: Subject,
  signal: AbortSignal,
  takeMessage: (message: FollowMessage) => void,
): Promise<void> => {
  const { urls, listings } = subject;
  const targets = listings.map(({ id }) => `bot/${id}`);
  const [first] = urls as [string];
  let turn = 0;
  const send = (address: string, init: RequestInit): Promise<Response> =>
    fetch(address.replace(first, urls[turn++ % urls.length] as string), init);
  for await (const message of follow({
    url: first,
    targets,
    channels: ['totals', 'votes'],
    signal,
    fetch: send,
  }))
    takeMessage(message);
};

interface Taking {
  readonly state: Followed;
  readonly listing: Listing;
}

const addNumber = ({ numbers, repeated }: Followed, number: number): void => {
  if (numbers.has(number)) repeated.push(number);
  numbers.add(number);
};

const take = (log: ProveLog, { state, listing }: Taking, { event, data }: FollowMessage): void => {
  if (event === 'vote') addNumber(state, Number(data.number));
  if (event === 'gap')
    for (let number = Number(data.from_number); number <= Number(data.to_number); number++)
      addNumber(state, number);
  if (event === 'reset' && data.channel === 'votes') state.isReset = true;
  if (event === 'totals') takeTotals(log, { state, listing }, data.totals as Record<string, number>);
};

const takeTotals = (log: ProveLog, { state, listing }: Taking, totals: Record<string, number>): void => {
  state.totals = totals;
  const { base, id: bot, posts } = listing;
  const atMs = nowMs();
  const times = { callMs: atMs, returnMs: atMs, life: 0, quiet: false };
  const { clicks = 0, unique_clicks: uniqueClicks = 0, servers = 0, shards } = totals;
  const isFirst = posts === 'shards' || base.posted.startsWith(`${servers} ${shards} `);
  const shown = shards === servers + 1 ? servers : null;
  log.feedSights.push({
    ...times,
    bot,
    post: isFirst ? 0 : shown,
    clicks: clicks - base.clicks,
    uniqueClicks: Math.max(0, uniqueClicks - base.uniqueClicks),
  });
  if (posts === 'shards' && readParts(`"servers":${servers}`) !== null)
    addPartSights(log, { ...times, listing }, `"servers":${servers}`, log.feedSights);
};
