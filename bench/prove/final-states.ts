/**
 * What a driven server has once nothing changes any more: the last looks at every bot at every address, the
 * vote log, the redeems, the history, and what the feed and the webhooks have brought by then.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { VoteLogResult } from '../../http/client/types.ts';
import { nowMs } from './client-log.ts';
import type { Followed, Follower } from './followers.ts';
import type { VoteRows } from './judge.ts';
import type { ProveLog } from './prove-log.ts';
import { addSights } from './sights.ts';
import { type Listing, read, readJson, type Subject } from './subject.ts';
import type { WebhookReceiver } from './webhook-receiver.ts';

interface HistoryPoint {
  readonly atMs: number;
  /** Since the beginning of the run; `null`: no sample. */
  readonly clicks: number | null;
  readonly votesLogged: number | null;
}

/** What was found of one bot. */
export interface FinalState {
  readonly listing: Listing;
  readonly entries: readonly VoteLogResult[];
  /** How many redeems were added. */
  readonly redeems: number;
  readonly history: readonly HistoryPoint[];
  readonly followed: Followed | null;
  /** `null`: it has no webhook. */
  readonly delivered: ReadonlySet<string> | null;
}

export interface FinalStateOptions {
  readonly subject: Subject;
  readonly log: ProveLog;
  readonly follower: Follower | null;
  readonly receiver: WebhookReceiver;
  /** How long to wait for a sample of the history after the load, in milliseconds. */
  readonly historyMs: number;
}

/** Other nodes show a change within a second; a busy machine gets more. */
const restMs = 2_000;
const catchUpMsMax = 60_000;
/** What a node was sending when it died may wait 5 min by the schedule, a fifth more at most. */
const afterDeathsMsMax = 420_000;
const readMs = 250;
const pageRows = 100;

interface LogPage {
  readonly results: readonly VoteLogResult[];
  readonly next: string;
}

const readLog = async (subject: Subject, { id, base }: Listing): Promise<VoteLogResult[]> => {
  const entries: VoteLogResult[] = [];
  if (base.cursor === '') return entries;
  for (let after = base.cursor; ; ) {
    const query = new URLSearchParams({ after, limit: String(pageRows) });
    const page = await readJson<LogPage>(subject, `${subject.urls[0]}/bots/${id}/votes/log?${query}`);
    entries.push(...(page?.results ?? []));
    if (page === null || page.results.length === 0 || page.next === after) return entries;
    after = page.next;
  }
};

const countRedeems = async (subject: Subject, { id, base }: Listing): Promise<number> => {
  const url = `${subject.urls[0]}/bots/${id}/votes/credits`;
  const credits = await readJson<{ redeems: readonly unknown[] }>(subject, url);
  return (credits?.redeems.length ?? 0) - base.redeems;
};

interface HistoryShown {
  readonly times: readonly string[];
  readonly series: { readonly clicks?: (number | null)[]; readonly votes_logged?: (number | null)[] };
}

const readHistory = async (
  subject: Subject,
  { id, base }: Listing,
  fromMs: number,
): Promise<HistoryPoint[]> => {
  if (!subject.has.has('history')) return [];
  const query = new URLSearchParams({ metrics: 'clicks,votes_logged', from: new Date(fromMs).toISOString() });
  const shown = await readJson<HistoryShown>(subject, `${subject.urls[0]}/bots/${id}/history?${query}`);
  return (shown?.times ?? []).map((time, index) => {
    const clicks = shown?.series.clicks?.[index] ?? null;
    return {
      atMs: Date.parse(time),
      clicks: clicks === null ? null : clicks - base.clicks,
      votesLogged: shown?.series.votes_logged?.[index] ?? null,
    };
  });
};

const lookAtAll = async ({ subject, log }: FinalStateOptions): Promise<void> => {
  for (const [place, url] of subject.urls.entries()) {
    for (const listing of subject.listings) {
      const callMs = nowMs();
      const answer = await read(subject, `${url}/bots/${listing.id}`);
      if (answer === null) continue;
      addSights(log, { callMs, returnMs: nowMs(), life: log.life, place, listing, quiet: true }, answer);
    }
  }
};

/** Whether the feed has all entries and the webhooks, too. */
const isCaughtUp = (
  { log, follower, receiver }: FinalStateOptions,
  { id, base }: Listing,
  entries: readonly VoteLogResult[],
): boolean => {
  const followed = follower?.followed.get(`bot/${id}`);
  const hooked = receiver.bots.has(id) ? receiver.votes.get(id) : null;
  const hasAll = (numbers: ReadonlySet<number> | undefined): boolean =>
    entries.every(({ number }) => numbers?.has(number));
  if (followed !== undefined && !followed.isReset) {
    const last = log.sights.findLast(({ bot, quiet }) => bot === id && quiet);
    const clicks = (followed.totals?.clicks ?? 0) - base.clicks;
    if (!hasAll(followed.numbers) || clicks !== last?.clicks) return false;
  }
  return hooked === null || entries.every(({ itag }) => hooked?.has(itag));
};

/** Waits until the feed and the webhooks have what the logs have, a minute at most; longer after deaths. */
const waitForAll = async (
  options: FinalStateOptions,
  entries: ReadonlyMap<Listing, readonly VoteLogResult[]>,
): Promise<void> => {
  const endMs = nowMs() + (options.log.life > 0 ? afterDeathsMsMax : catchUpMsMax);
  while (nowMs() < endMs) {
    if ([...entries].every(([listing, found]) => isCaughtUp(options, listing, found))) return;
    await sleep(readMs);
  }
};

/** Waits until a sample later than this time is shown, for so long at most. */
const waitForSample = async ({ subject, historyMs }: FinalStateOptions, quietMs: number): Promise<void> => {
  const endMs = nowMs() + historyMs;
  const [listing] = subject.listings as [Listing];
  while (subject.has.has('history') && nowMs() < endMs) {
    const points = await readHistory(subject, listing, quietMs - 120_000);
    if (points.some(({ atMs, clicks }) => atMs > quietMs + restMs && clicks !== null)) return;
    await sleep(1_000);
  }
};

/** For a server that is whole, after the load: unknown requests have had their effect by then. */
export const readFinalStates = async (
  options: FinalStateOptions,
  startMs: number,
): Promise<readonly FinalState[]> => {
  const { subject, log, follower, receiver } = options;
  for (const { id } of subject.listings) await read(subject, `${subject.urls[0]}/bots/${id}`);
  await sleep(restMs);
  const quietMs = nowMs();
  for (const { life } of [...log.stats, ...log.clicks, ...log.votes]) log.endedMs[life] = quietMs;
  await lookAtAll(options);
  const entries = new Map<Listing, readonly VoteLogResult[]>();
  for (const listing of subject.listings) entries.set(listing, await readLog(subject, listing));
  await waitForAll(options, entries);
  await waitForSample(options, quietMs);
  const finalStates: FinalState[] = [];
  for (const [listing, found] of entries) {
    finalStates.push({
      listing,
      entries: found,
      redeems: subject.has.has('redeems') ? await countRedeems(subject, listing) : 0,
      history: await readHistory(subject, listing, startMs),
      followed: follower?.followed.get(`bot/${listing.id}`) ?? null,
      delivered: receiver.bots.has(listing.id) ? (receiver.votes.get(listing.id) ?? new Set()) : null,
    });
  }
  return finalStates;
};

/** Accepted requests to vote, as the judge wants them. */
export const toVoteRows = (finalStates: readonly FinalState[]): readonly VoteRows[] =>
  finalStates.flatMap(({ listing, entries }) => {
    const unique = new Map(entries.map((entry) => [entry.itag, entry]));
    const requests = Map.groupBy(unique.values(), (one) => `${one.author} ${one.created_at} ${one.upvote}`);
    return [...requests.values()].map((rows) => {
      const [{ author, upvote, created_at: at }] = rows as [VoteLogResult];
      const numbers = rows.map((_, index) => index);
      return { target: `bot/${listing.id}`, user: author, atMs: Date.parse(at), upvote, numbers };
    });
  });
