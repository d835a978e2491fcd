/**
 * The verdict of `prove`: the client's log against what the server has, each lie under its kind and name.
 * Uses the judge of the fault tests, and adds what only clients see: totals of votes, the vote log, the feed,
 * webhooks, the history, redeems. Pure.
 */
import type { VoteLogResult } from '../../http/client/types.ts';
import type { ClientLog, Outcome, Sight, Span } from './client-log.ts';
import { type FinalState, toVoteRows } from './final-states.ts';
import { firstWindowFaults } from './first-window.ts';
import { judgeHistory } from './history.ts';
import {
  countBefore,
  createVerdict,
  judgeClicks,
  judgeStats,
  judgeVotes,
  sortMarks,
  type Verdict,
} from './judge.ts';
import type { Lie, ProofKind } from './lies.ts';
import type { ProveLog } from './prove-log.ts';
import type { Subject } from './subject.ts';

/** What one kind counted; `null`: the server lacks it. */
export interface KindFigures {
  readonly acknowledged: number;
  readonly unknown: number;
  readonly refused: number;
}
export interface Proof {
  readonly figures: Readonly<Record<ProofKind, KindFigures | null>>;
  readonly lies: readonly Lie[];
}

/** What was acknowledged elsewhere is visible after a second; a busy machine gets more. */
const lateMs = 5_000;

const isPart = (bot: string): boolean => bot.includes('#');

/** Lies of one kind, the texts of each under its name. */
const toLies = (kind: ProofKind, texts: Readonly<Record<string, readonly string[]>>): Lie[] =>
  Object.entries(texts).flatMap(([name, list]) => list.map((text) => ({ kind, name, text })));

/** What the readers of the load saw may be old for a while; what is seen at the end may not. */
const judgeSights = (
  log: ClientLog,
  { judge, kind }: { readonly judge: typeof judgeStats; readonly kind: ProofKind },
  isDirect: boolean,
): Lie[] => {
  const judged = (sights: readonly Sight[], staleMs: number): Verdict => {
    const verdict = createVerdict();
    judge({ ...log, sights: [...sights] }, verdict, staleMs);
    return verdict;
  };
  const [quiet = [], busy = []] = [true, false].map((is) => log.sights.filter((sight) => sight.quiet === is));
  const [last, before] = [judged(quiet, 0), judged(busy, lateMs)];
  const places = isDirect ? Map.groupBy(log.sights, ({ place = 0 }) => place) : new Map();
  const falls = [judged(log.sights, lateMs), ...[...places.values()].map((sights) => judged(sights, 0))];
  return toLies(kind, {
    ...{ lost: last.lost, late: before.lost, doubled: [...last.doubled, ...before.doubled] },
    ...{ mixed: [...last.mixed, ...before.mixed], fell: [...new Set(falls.flatMap(({ fell }) => fell))] },
  });
};

const judgeNumbers = (log: ProveLog, { isDirect, has }: Subject): Lie[] => {
  const ofParts = { ...log, sights: log.sights.filter(({ bot }) => isPart(bot)) };
  const ofBots = { ...log, sights: log.sights.filter(({ bot }) => !isPart(bot)) };
  const clicks = judgeSights(ofBots, { judge: judgeClicks, kind: 'clicks' }, isDirect);
  return [
    ...judgeSights(ofBots, { judge: judgeStats, kind: 'posts' }, isDirect),
    ...judgeSights(ofParts, { judge: judgeStats, kind: 'shards' }, isDirect),
    ...(has.has('unique clicks') ? clicks : clicks.filter(({ text }) => !text.includes('unique clicks'))),
  ];
};

/* ----------------------------------------------------------------- votes */

const judgeVoteRequests = (log: ProveLog, subject: Subject, finalStates: readonly FinalState[]): Lie[] => {
  const { waitMs, clocksMs } = subject;
  const accepted = log.votes.filter(({ outcome }) => outcome === 'ok');
  const twice = firstWindowFaults({ votes: accepted }, waitMs.min, log.resets);
  const disordered = firstWindowFaults(log, waitMs.min, log.resets).filter((line) => !twice.includes(line));
  const lies = toLies('votes', { 'accepted twice': twice, 'refused without cause': disordered });
  if (!subject.has.has('log')) return lies;
  const verdict = createVerdict();
  const rows = toVoteRows(finalStates);
  const { resets } = log;
  judgeVotes(log, { rows, waitMs: waitMs.min, waitMsMax: waitMs.max, clocksMs, resets }, verdict);
  const isRefusal = (line: string): boolean => line.includes(': refused at ');
  const lost = verdict.lost.filter((line) => !isRefusal(line));
  const refused = verdict.lost.filter(isRefusal);
  return [...lies, ...toLies('votes', { 'refused without cause': refused, lost, doubled: verdict.doubled })];
};

/** How many of these operations since a reset were sent, and had been acknowledged, before a moment. */
const countOperations = (
  operations: readonly { readonly callMs: number; readonly returnMs: number; readonly outcome: Outcome }[],
  { fromMs, toMs }: Span,
) => {
  const mayCount = operations.filter(({ outcome, returnMs }) => outcome !== 'fail' && returnMs >= fromMs);
  const sent = sortMarks(mayCount.map(({ callMs }) => callMs));
  const mustCount = operations.filter(({ outcome, callMs }) => outcome === 'ok' && callMs >= toMs);
  const acked = sortMarks(mustCount.map(({ returnMs }) => returnMs));
  return {
    sent: (moment: number): number => countBefore(sent, moment),
    acked: (moment: number): number => countBefore(acked, moment),
  };
};

/** How many votes a request counts for, the least and the most: two on weekends. */
const findWeights = (finalStates: readonly FinalState[]): { readonly min: number; readonly max: number } => {
  const weights = toVoteRows(finalStates).map(({ numbers }) => numbers.length);
  if (weights.length === 0) return { min: 1, max: 1 };
  return { min: Math.min(2, ...weights), max: Math.min(2, Math.max(...weights)) };
};

/** From one reset to the next: totals begin with 0 again. */
interface Era {
  readonly since: Span;
  readonly untilMs: number;
}

const listEras = ({ resets }: ProveLog): readonly Era[] => {
  const always = { fromMs: Number.NEGATIVE_INFINITY, toMs: Number.NEGATIVE_INFINITY };
  return [always, ...resets].map((since, index) => ({
    since,
    untilMs: resets[index]?.fromMs ?? Number.POSITIVE_INFINITY,
  }));
};

const judgeVoteTotals = (log: ProveLog, finalStates: readonly FinalState[]): Lie[] =>
  listEras(log).flatMap((era) =>
    finalStates.flatMap((one) => judgeTotalsOfEra(log, finalStates, { one, era })),
  );

/** Totals lie between what was acknowledged and what was sent; a downvote or a redeem lowers them. */
const judgeTotalsOfEra = (
  log: ProveLog,
  finalStates: readonly FinalState[],
  { one: { listing }, era: { since, untilMs } }: { readonly one: FinalState; readonly era: Era },
): Lie[] => {
  const { min, max } = findWeights(finalStates);
  const lies: Lie[] = [];
  const { id: bot, base } = listing;
  const before = Number.isFinite(since.fromMs) ? base.votes : 0;
  const votes = log.votes.filter(({ target }) => target === `bot/${bot}`);
  const countVotes = (isUp: boolean) =>
    countOperations(
      votes.filter(({ upvote }) => upvote === isUp),
      since,
    );
  const [up, down] = [countVotes(true), countVotes(false)];
  const redeems = log.redeems.filter((one) => one.bot === bot);
  const redeemed = countOperations(redeems, since);
  for (const { callMs, returnMs, quiet, votes: more, ...sight } of log.sights) {
    if (sight.bot !== bot || more === undefined || callMs < since.toMs || returnMs >= untilMs) continue;
    const shown = more + before;
    const seenMs = quiet ? callMs : callMs - lateMs;
    const low = min * up.acked(seenMs) - max * down.sent(returnMs) - redeemed.sent(returnMs);
    const high = max * up.sent(returnMs) - min * down.acked(seenMs) - redeemed.acked(seenMs);
    const where = `bot ${bot} at ${callMs.toFixed(0)} has ${shown} votes, not ${low} to ${high}`;
    if (shown < low) lies.push(...toLies('votes', { [quiet ? 'lost' : 'late']: [where] }));
    if (shown > high) lies.push(...toLies('votes', { doubled: [where] }));
  }
  return lies;
};

/** The last total is what the log's entries and the redeems make; after a reset, those that are not void. */
const judgeTotalOfLog = (log: ProveLog, { listing, entries, redeems }: FinalState): Lie[] => {
  const isReset = log.resets.length > 0;
  const isVoided = entries.some((one) => one.void && one.void_reason !== 'redeemed');
  if (listing.base.cursor === '' || (isVoided && !isReset)) return [];
  const unique = new Map(entries.map((entry) => [entry.itag, entry]));
  const counted = [...unique.values()].filter((entry) => !isReset || !entry.void);
  const votesOfLog = counted.reduce((total, { upvote }) => total + (upvote ? 1 : -1), 0);
  const sum = isReset ? votesOfLog - listing.base.votes : votesOfLog - redeems;
  const differing = log.sights.filter(
    ({ bot, quiet, votes }) => quiet && bot === listing.id && votes !== sum,
  );
  const texts = differing.map(({ votes }) => `bot ${listing.id} has ${votes} more votes, and its log ${sum}`);
  return toLies('votes', { 'total and log differ': texts });
};

/* ------------------------------------------- the log, the feed, webhooks, history */

const listMissing = (entries: readonly VoteLogResult[]): readonly number[] => {
  const numbers = new Set(entries.map(({ number }) => number));
  const missing: number[] = [];
  for (let number = Math.min(...numbers); number < Math.max(...numbers); number++)
    if (!numbers.has(number)) missing.push(number);
  return missing;
};

const judgeLog = ({ listing, entries }: FinalState): Lie[] => {
  const numbers = new Set(entries.map(({ number }) => number));
  const itags = new Set(entries.map(({ itag }) => itag));
  const where = `the vote log of bot ${listing.id}`;
  const repeats = entries.length - Math.min(numbers.size, itags.size);
  return toLies('vote log', {
    missing: listMissing(entries).map((number) => `${where} lacks number ${number}`),
    repeated: repeats > 0 ? [`${where} has ${repeats} entries twice`] : [],
  });
};

const judgeFeed = (log: ProveLog, { listing, entries, followed }: FinalState): Lie[] => {
  if (followed === null || followed.isReset) return [];
  const where = `the feed of bot ${listing.id}`;
  const missing = entries.filter(({ number }) => !followed.numbers.has(number));
  const last = log.sights.findLast(({ bot, quiet }) => quiet && bot === listing.id);
  const shown = (followed.totals?.clicks ?? 0) - listing.base.clicks;
  const isOld = last !== undefined && shown !== last.clicks;
  return toLies('feed', {
    missing: missing.map(({ number }) => `${where} lacks vote ${number}`),
    repeated: followed.repeated.map((number) => `${where} has vote ${number} twice`),
    lost: isOld ? [`${where} ends with ${shown} clicks and not ${last.clicks}`] : [],
  });
};

/** What the feed showed, judged as what any reader saw. */
const judgeFeedSights = (log: ProveLog): Lie[] => {
  const verdict = createVerdict();
  const seen = { ...log, sights: log.feedSights };
  judgeStats(seen, verdict, lateMs);
  judgeClicks({ ...seen, sights: seen.sights.filter(({ bot }) => !isPart(bot)) }, verdict, lateMs);
  const doubled = verdict.doubled.filter((line) => !line.includes('unique clicks'));
  return toLies('feed', { late: verdict.lost, doubled, mixed: verdict.mixed, fell: verdict.fell });
};

const judgeWebhook = ({ listing, entries, delivered }: FinalState): Lie[] => {
  const missing = delivered === null ? [] : entries.filter(({ itag }) => !delivered.has(itag));
  const texts = missing.map(({ number }) => `the webhook of bot ${listing.id} did not get vote ${number}`);
  return toLies('webhooks', { missing: texts });
};

const judgeRedeems = (log: ProveLog, { listing, redeems }: FinalState): Lie[] => {
  const own = log.redeems.filter(({ bot }) => bot === listing.id);
  const acked = own.filter(({ outcome }) => outcome === 'ok').length;
  const most = own.filter(({ outcome }) => outcome !== 'fail').length;
  const text = `bot ${listing.id} has ${redeems} redeems, and must have ${acked} to ${most}`;
  return toLies('redeems', { lost: redeems < acked ? [text] : [], doubled: redeems > most ? [text] : [] });
};

/* -------------------------------------------------------------- together */

const countOutcomes = (operations: readonly { readonly outcome: Outcome }[]): KindFigures => {
  const count = (wanted: Outcome): number => operations.filter(({ outcome }) => outcome === wanted).length;
  return { acknowledged: count('ok'), unknown: count('unknown'), refused: count('fail') };
};

const buildFigures = (
  log: ProveLog,
  subject: Subject,
  finalStates: readonly FinalState[],
): Proof['figures'] => {
  const only = (acknowledged: number): KindFigures => ({ acknowledged, unknown: 0, refused: 0 });
  const unless = (has: boolean, figures: KindFigures): KindFigures | null => (has ? figures : null);
  const sum = (count: (one: FinalState) => number): number =>
    finalStates.reduce((total, one) => total + count(one), 0);
  const hasLog = subject.has.has('log');
  const hooked = finalStates.some(({ delivered }) => delivered !== null);
  return {
    posts: countOutcomes(log.stats.filter(({ bot }) => !isPart(bot))),
    shards: unless(subject.has.has('shards'), countOutcomes(log.stats.filter(({ bot }) => isPart(bot)))),
    clicks: countOutcomes(log.clicks),
    votes: unless(log.votes.length > 0 || hasLog, countOutcomes(log.votes)),
    'vote log': unless(hasLog, only(sum(({ entries }) => entries.length))),
    feed: unless(
      finalStates.some(({ followed }) => followed !== null),
      only(sum(({ followed }) => followed?.numbers.size ?? 0) + log.feedSights.length),
    ),
    webhooks: unless(hooked, only(sum(({ delivered }) => delivered?.size ?? 0))),
    history: unless(
      subject.has.has('history'),
      only(sum(({ history }) => history.filter(({ clicks }) => clicks !== null).length)),
    ),
    redeems: unless(subject.has.has('redeems'), countOutcomes(log.redeems)),
    replies: only(log.sights.length),
  };
};

interface QuietRun {
  readonly subject: Subject;
  readonly finalStates: readonly FinalState[];
  /** Faults of webhooks. */
  readonly wrong: readonly string[];
}

/** Judges a run that has settled. */
export const judgeRun = (log: ProveLog, { subject, finalStates, wrong }: QuietRun): Proof => {
  const lies = [
    ...judgeNumbers(log, subject),
    ...judgeVoteRequests(log, subject, finalStates),
    ...judgeVoteTotals(log, finalStates),
    ...finalStates.flatMap((one) => judgeTotalOfLog(log, one)),
    ...finalStates.flatMap(judgeLog),
    ...finalStates.flatMap((one) => judgeFeed(log, one)),
    ...judgeFeedSights(log),
    ...finalStates.flatMap(judgeWebhook),
    ...toLies('webhooks', { wrong }),
    ...finalStates.flatMap((one) => judgeHistory(log, one)),
    ...(subject.has.has('redeems') ? finalStates.flatMap((one) => judgeRedeems(log, one)) : []),
    ...toLies('replies', { 'of another listing': log.misplaced, unexpected: log.strange }),
  ];
  return { figures: buildFigures(log, subject, finalStates), lies };
};
