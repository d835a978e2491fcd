/**
 * Judges a store by the client's log: what was acknowledged is there, nothing is there twice, nothing that a
 * reader saw was taken back. Pure; every fault is one line of text under one of the names below.
 *
 * The rule behind all of it: an operation takes effect at one moment between its call and its return, and an
 * unknown one between its call and the end of its node's life, or never.
 */
import { limits } from '../../engine/limits.ts';
import { type ClickOp, type ClientLog, overMs, type Span, type StatsOp, type VoteOp } from './client-log.ts';

/** One accepted request to vote as SQL has it: its rows counted. */
export interface VoteRows {
  readonly target: string;
  readonly user: string;
  readonly atMs: number;
  readonly upvote: boolean;
  /** `vote_num` of its rows, sorted. */
  readonly numbers: readonly number[];
}

export interface Verdict {
  /** Acknowledged and not there. */
  readonly lost: string[];
  /** There without a request, or there twice for one request. */
  readonly doubled: string[];
  /** Fields of two posts, shown together. */
  readonly mixed: string[];
  /** Seen by a reader, and taken back. */
  readonly fell: string[];
}

/** Without what follows from a store that does not know earlier visitors: they count as unique once more. */
export const forgetVisitors = (verdict: Verdict): void => {
  const left = verdict.doubled.filter((line) => !/ unique clicks of \d+$/.test(line));
  verdict.doubled.splice(0, Infinity, ...left);
};

export const createVerdict = (): Verdict => ({ lost: [], doubled: [], mixed: [], fell: [] });

/** Clocks of two processes on one machine, and timestamps cut to milliseconds. */
const slackMs = 5;

/** For times in ascending order: the largest value among those strictly before a moment. */
const newestBefore = (marks: readonly { readonly atMs: number; readonly value: number }[]) => {
  const sorted = [...marks].sort((left, right) => left.atMs - right.atMs);
  const best: number[] = [];
  for (const [index, { value }] of sorted.entries())
    best.push(Math.max(value, best[index - 1] ?? Number.NEGATIVE_INFINITY));
  return (moment: number): number => best[countBefore(sorted, moment) - 1] ?? Number.NEGATIVE_INFINITY;
};

export const sortMarks = (times: readonly number[]): readonly { readonly atMs: number }[] =>
  [...times].sort((left, right) => left - right).map((atMs) => ({ atMs }));

/** How many of the sorted marks lie strictly before the moment. */
export const countBefore = (sorted: readonly { readonly atMs: number }[], moment: number): number => {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle]?.atMs ?? 0) < moment) low = middle + 1;
    else high = middle;
  }
  return low;
};

/**
 * Stats: every reader sees one whole post, never one that was certainly replaced `staleMs` before the
 * reader's request (0 at the node that acknowledged it).
 */
export const judgeStats = (log: ClientLog, verdict: Verdict, staleMs = 0): void => {
  const posts = new Map<number, StatsOp>(log.stats.map((op) => [op.id, op]));
  for (const [bot, sights] of Map.groupBy(log.sights, (sight) => sight.bot)) {
    const acked = log.stats.filter((op) => op.bot === bot && op.outcome === 'ok');
    const replaced = newestBefore(acked.map((op) => ({ atMs: op.returnMs, value: op.callMs })));
    const shown = sights.flatMap((sight) => {
      const post = sight.post === null ? undefined : posts.get(sight.post);
      return post === undefined ? [] : [{ atMs: sight.returnMs, value: post.callMs }];
    });
    const seen = newestBefore(shown);
    for (const sight of sights) {
      const where = `bot ${bot} at ${sight.callMs.toFixed(0)} (life ${sight.life})`;
      if (sight.post === null) {
        verdict.mixed.push(`${where} shows fields of two posts`);
        continue;
      }
      const post = posts.get(sight.post);
      if (sight.post !== 0 && (post === undefined || post.bot !== bot || post.outcome === 'fail')) {
        verdict.doubled.push(`${where} shows post ${sight.post}, which it was never sent or which failed`);
        continue;
      }
      const until = post === undefined ? Number.NEGATIVE_INFINITY : overMs(log, post);
      if (replaced(sight.callMs - staleMs) > until)
        verdict.lost.push(`${where} shows post ${sight.post}, but a later one was acknowledged`);
      if (seen(sight.callMs - staleMs) > until)
        verdict.fell.push(`${where} shows post ${sight.post}, but a later one was seen before`);
    }
  }
};

/**
 * Clicks that must be there at a moment: an answered click is in the next batch, so an acknowledged write
 * that was sent later proves it.
 */
const provenClicks = (log: ClientLog, clicks: readonly ClickOp[], moment: number): readonly ClickOp[] => {
  const provenUntil = new Map<number, number>();
  for (const op of [...log.stats, ...log.votes]) {
    if (op.outcome !== 'ok' || op.returnMs >= moment) continue;
    provenUntil.set(op.life, Math.max(provenUntil.get(op.life) ?? 0, op.callMs));
  }
  return clicks.filter(
    (op) => op.outcome === 'ok' && op.returnMs < (provenUntil.get(op.life) ?? 0) && !mayWait(log, op, moment),
  );
};

/** A node sends refused clicks again after a pause, which has certainly passed so long after a refusal. */
export const sentAgainMs = 2 * limits.resendPauseMaxMs;

/** Whether the click may have been refused, and waited at that moment or when its node ended. */
const mayWait = ({ withoutRoom, endedMs }: ClientLog, { life, callMs }: ClickOp, moment: number): boolean => {
  const untilMs = Math.min(moment, endedMs[life] ?? Number.POSITIVE_INFINITY);
  return withoutRoom.some(({ toMs }) => toMs > callMs && untilMs < toMs + sentAgainMs);
};

const countAddresses = (clicks: readonly ClickOp[]): number =>
  new Set(clicks.map(({ address }) => address)).size;

/**
 * Clicks: at most a batch behind, never more than sent, never falling; unique ones never more than visitors.
 */
export const judgeClicks = (log: ClientLog, verdict: Verdict, staleMs = 0): void => {
  for (const [bot, sights] of Map.groupBy(log.sights, (sight) => sight.bot)) {
    const sent = log.clicks.filter((op) => op.bot === bot && op.outcome !== 'fail');
    const visitors = countAddresses(sent);
    const byCall = sent.map((op) => ({ atMs: op.callMs })).sort((left, right) => left.atMs - right.atMs);
    const seen = newestBefore(sights.map((sight) => ({ atMs: sight.returnMs, value: sight.clicks })));
    for (const sight of sights) {
      const where = `bot ${bot} at ${sight.callMs.toFixed(0)} (life ${sight.life})`;
      const most = countBefore(byCall, sight.returnMs);
      if (sight.clicks > most) verdict.doubled.push(`${where} has ${sight.clicks} clicks of ${most} sent`);
      if (sight.uniqueClicks > Math.min(sight.clicks, visitors))
        verdict.doubled.push(`${where} has ${sight.uniqueClicks} unique clicks of ${sight.clicks}`);
      const before = seen(sight.callMs - staleMs);
      if (sight.clicks < before)
        verdict.fell.push(`${where} has ${sight.clicks} clicks, and had ${before} before`);
      if (!sight.quiet) continue;
      const proven = provenClicks(log, sent, sight.callMs);
      if (sight.clicks < proven.length)
        verdict.lost.push(`${where} has ${sight.clicks} clicks, and ${proven.length} were proven`);
      if (sight.uniqueClicks < countAddresses(proven))
        verdict.lost.push(`${where} has ${sight.uniqueClicks} unique clicks of ${countAddresses(proven)}`);
    }
  }
};

/** Votes as SQL or the vote log has them, and what is known of their windows and times. */
export interface VotesFound {
  readonly rows: readonly VoteRows[];
  /** The shortest window that was in force. */
  readonly waitMs: number;
  /** The longest one; the same if absent. */
  readonly waitMsMax?: number;
  /** How far the clocks of client and server may be apart. */
  readonly clocksMs?: number;
  /** Resets, which end every window. */
  readonly resets?: readonly Span[];
}

/** Votes at rest: each acknowledged one has its rows, each row its request, one per user and window. */
export const judgeVotes = (
  log: ClientLog,
  { rows, waitMs, waitMsMax = waitMs, clocksMs = slackMs, resets = [] }: VotesFound,
  verdict: Verdict,
): void => {
  /** Whether the accepted request can be this operation's. */
  const fits = (op: VoteOp, { upvote, atMs }: VoteRows): boolean =>
    op.upvote === upvote && atMs >= op.callMs - clocksMs && atMs <= overMs(log, op) + clocksMs;
  const isBetween = (one: VoteRows, other: VoteRows): boolean =>
    resets.some(({ fromMs, toMs }) => one.atMs < toMs && other.atMs > fromMs - clocksMs);
  const pair = ({ target, user }: { target: string; user: string }): string => `${user} on ${target}`;
  const sent = Map.groupBy(log.votes, pair);
  const found = Map.groupBy(rows, pair);
  for (const name of new Set([...sent.keys(), ...found.keys()])) {
    const left = [...(found.get(name) ?? [])].sort((one, other) => one.atMs - other.atMs);
    for (const [index, one] of left.entries()) {
      const before = left[index - 1];
      if (before !== undefined && one.atMs - before.atMs < waitMs && !isBetween(before, one))
        verdict.doubled.push(`${name}: two votes ${one.atMs - before.atMs} ms apart`);
      if (one.numbers.some((number, place) => number !== place))
        verdict.doubled.push(`${name}: rows numbered ${one.numbers.join(', ')}`);
    }
    const ops = sent.get(name) ?? [];
    for (const op of ops.filter((one) => one.outcome === 'ok')) {
      const at = left.findIndex((one) => fits(op, one));
      if (at >= 0) {
        left.splice(at, 1);
        continue;
      }
      const all = describe(ops, found.get(name) ?? []);
      verdict.lost.push(`${name}: the vote acknowledged at ${op.returnMs.toFixed(0)}; ${all}`);
    }
    for (const one of left) {
      if (!ops.some((op) => op.outcome === 'unknown' && fits(op, one)))
        verdict.doubled.push(`${name}: a vote at ${one.atMs} that no client was answered`);
    }
    judgeRefusals({ name, ops, rows: found.get(name) ?? [], waitMsMax, clocksMs }, verdict);
  }
};

interface Pair {
  readonly name: string;
  readonly ops: readonly VoteOp[];
  readonly rows: readonly VoteRows[];
  readonly waitMsMax: number;
  readonly clocksMs: number;
}

/** A refused vote must have had an accepted one before it, less than a window ago. */
const judgeRefusals = ({ name, ops, rows, waitMsMax, clocksMs }: Pair, verdict: Verdict): void => {
  for (const op of ops) {
    if (!op.refused) continue;
    const holder = rows.some(
      ({ atMs }) => atMs <= op.returnMs + clocksMs && atMs > op.callMs - waitMsMax - clocksMs,
    );
    if (holder) continue;
    const all = describe(ops, rows);
    verdict.lost.push(
      `${name}: refused at ${op.callMs.toFixed(0)} because of a vote that is not there; ${all}`,
    );
  }
};

/** The requests and the rows, for the search for the cause. */
const describe = (ops: readonly VoteOp[], rows: readonly VoteRows[]): string => {
  const requests = ops.map(({ life, callMs, returnMs, outcome, refused }) => {
    const end = Number.isFinite(returnMs) ? ` to ${returnMs.toFixed(0)}` : '';
    return `${refused ? 'refused' : outcome} by life ${life} from ${callMs.toFixed(0)}${end}`;
  });
  return [...requests, ...rows.map(({ atMs }) => `a row of ${atMs}`)].join(', ');
};

/** Numbers of operations by outcome, for the figures. */
export const tally = (log: ClientLog): { acked: number; unknown: number } => {
  const ops = [...log.stats, ...log.clicks, ...log.votes];
  return {
    acked: ops.filter((op) => op.outcome === 'ok').length,
    unknown: ops.filter((op) => op.outcome === 'unknown').length,
  };
};
