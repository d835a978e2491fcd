/**
 * The rules of voting: which window is in force, which votes make their voter wait, which vote is accepted.
 *
 * Pure. The window in force at the time of the request counts, also for votes cast under another one. A vote
 * exactly at the end of the wait is accepted. The caller passes the voter's votes of at least the longest
 * window; how they are stored does not matter here.
 *
 * In Lua, too: 3-votes.lua and 2-rules.lua (ARCHITECTURE.md, *Rules in two languages*).
 */
import { limits } from '../limits.ts';
import type { VoteRefusal, VoteWindow, VoteWindows } from './items.ts';
import type { Facts, Totals } from './state.ts';

/**
 * What the ledger decided about a vote after it was cast: `cast`, nothing; `released`, it no longer makes its
 * voter wait; `pinned`, it makes its voter wait, whatever the entity's `releasedBeforeMs` is.
 */
export const lastVoteFlags = ['cast', 'released', 'pinned'] as const;
export type LastVoteFlag = (typeof lastVoteFlags)[number];

/** A user's last accepted request to vote on an entity. One request may count as several votes. */
export interface LastVote {
  readonly atMs: number;
  readonly flag: LastVoteFlag;
}

export type VoteVerdict =
  | { readonly kind: 'accepted'; readonly count: number }
  | { readonly kind: 'refused'; readonly reason: VoteRefusal; readonly retryAtMs: number };

const dayMs = 86_400_000;

/** Whether it is Friday 00:00 to Sunday 24:00 UTC. Day 0 of the epoch was a Thursday. */
export const isWeekend = (atMs: number): boolean => {
  const day = Math.floor(atMs / dayMs) % 7;
  return day >= 1 && day <= 3;
};

/** Selects the window in force at `atMs`: premium before weekend before standard. */
export const selectWindow = (facts: Facts, atMs: number, windows: VoteWindows): VoteWindow => {
  if (facts.premiumUntilMs > atMs) return windows.premium;
  return isWeekend(atMs) ? windows.weekend : windows.standard;
};

/** Computes the most votes that a request at `atMs` counts: only the store knows which entity is premium. */
export const computeVotesMax = (atMs: number, { standard, premium, weekend }: VoteWindows): number =>
  Math.max(premium.perUser, (isWeekend(atMs) ? weekend : standard).perUser);

/** Finds the next time when the window may change: Friday or Monday 00:00 UTC, or the end of premium. */
const computeNextChangeMs = (facts: Facts, atMs: number): number => {
  let midnight = (Math.floor(atMs / dayMs) + 1) * dayMs;
  while (isWeekend(midnight) === isWeekend(atMs)) midnight += dayMs;
  return facts.premiumUntilMs > atMs ? Math.min(facts.premiumUntilMs, midnight) : midnight;
};

/**
 * Computes the first time from `atMs` at which a vote cast at `votedAtMs` no longer makes its voter wait, if
 * the facts do not change. It may be earlier than the end of the window in force at `atMs`, if a shorter
 * window begins.
 */
export const computeWaitEndMs = (
  { facts, votedAtMs }: { facts: Facts; votedAtMs: number },
  atMs: number,
  windows: VoteWindows,
): number => {
  const latestMs = votedAtMs + computeLongestWaitMs(windows);
  let fromMs = atMs;
  while (fromMs < latestMs) {
    const endMs = votedAtMs + selectWindow(facts, fromMs, windows).waitMs;
    const changeMs = computeNextChangeMs(facts, fromMs);
    if (endMs < changeMs) return Math.max(fromMs, endMs);
    fromMs = changeMs;
  }
  return Math.max(atMs, latestMs);
};

/** Computes the longest wait of all windows, in ms: an older vote makes no voter wait. */
export const computeLongestWaitMs = (windows: VoteWindows): number =>
  Math.max(windows.standard.waitMs, windows.premium.waitMs, windows.weekend.waitMs);

/** Finds the time of the newest vote that makes its voter wait, 0 for none. */
export const findHoldingSinceMs = (votes: readonly LastVote[], releasedBeforeMs: number): number => {
  let sinceMs = 0;
  for (const vote of votes) {
    const holds = vote.flag === 'pinned' || (vote.flag === 'cast' && vote.atMs >= releasedBeforeMs);
    if (holds && vote.atMs > sinceMs) sinceMs = vote.atMs;
  }
  return sinceMs;
};

const refuseVote = (reason: VoteRefusal, retryAtMs = 0): VoteVerdict => ({
  kind: 'refused',
  reason,
  retryAtMs,
});

export interface VoteContext {
  readonly state: Totals & { readonly facts: Facts };
  readonly votes: readonly LastVote[];
  readonly atMs: number;
  /** The store's clock: a vote timed too far ahead of it or behind it is refused. */
  readonly nowMs: number;
  /** The vote was accepted before and then lost: it may be old, and voting may have ended since. */
  readonly lost?: boolean | undefined;
  readonly windows: VoteWindows;
}

/** Finds why an entity takes no votes; `null` if it does. */
export const findClosure = ({ voteBanned, listed }: Facts): 'vote_banned' | 'not_listed' | null => {
  if (voteBanned) return 'vote_banned';
  return listed ? null : 'not_listed';
};

/** Finds why no voter's request is accepted, in the documented order; `null` if one may be. */
const findRefusal = ({ state: { facts }, atMs, nowMs }: VoteContext): VoteRefusal | null => {
  const closure = findClosure(facts);
  if (closure !== null) return closure;
  if (atMs > nowMs + limits.clockAheadMaxMs) return 'clock_ahead';
  return atMs < nowMs - limits.clockBehindMaxMs ? 'clock_behind' : null;
};

/** Decides one request to vote. */
export const decideVote = (context: VoteContext): VoteVerdict => {
  const { state, atMs } = context;
  const refusal = context.lost === true ? null : findRefusal(context);
  if (refusal !== null) return refuseVote(refusal);
  const window = selectWindow(state.facts, atMs, context.windows);
  const sinceMs = findHoldingSinceMs(context.votes, state.releasedBeforeMs);
  const retryAtMs = sinceMs + window.waitMs;
  if (sinceMs > 0 && atMs < retryAtMs) return refuseVote('wait', retryAtMs);
  return { kind: 'accepted', count: window.perUser };
};
