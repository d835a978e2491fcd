/**
 * The rules of voting: which window is in force, which votes hold their voter back, whether one is accepted.
 *
 * Pure. The window in force at the time of the request counts, also for votes cast under another one. A vote
 * exactly at the end of the wait is accepted. Storage hands in the voter's votes of at least the longest
 * window; this file never knows how they are kept. Called by `apply.ts`, and by readers for a user's
 * standing.
 */
import { limits } from '../limits.ts';
import type { VoteRefusal } from './items.ts';
import type { Facts, Totals } from './state.ts';
import type { VoteWindow, VoteWindows } from './windows.ts';

/**
 * What the ledger said about a vote since it was cast: `cast`, nothing; `released`, it no longer holds its
 * voter back; `held`, it does, whatever the entity's `releasedBeforeMs` says.
 */
export const lastVoteFlags = ['cast', 'released', 'held'] as const;
export type LastVoteFlag = (typeof lastVoteFlags)[number];

/** One request to vote that was accepted, however many votes it granted. */
export interface LastVote {
  readonly atMs: number;
  readonly flag: LastVoteFlag;
}

export type VoteVerdict =
  | { readonly kind: 'accepted'; readonly count: number }
  | { readonly kind: 'refused'; readonly reason: VoteRefusal; readonly retryAtMs: number };

const dayMs = 86_400_000;

/** Friday 00:00 to Sunday 24:00 UTC. Day 0 of the epoch was a Thursday. */
export const isWeekend = (atMs: number): boolean => {
  const day = Math.floor(atMs / dayMs) % 7;
  return day >= 1 && day <= 3;
};

/** The window in force: premium before weekend before standard. */
export const selectWindow = (facts: Facts, atMs: number, windows: VoteWindows): VoteWindow => {
  if (facts.premiumUntilMs > atMs) return windows.premium;
  return isWeekend(atMs) ? windows.weekend : windows.standard;
};

/** The next instant at which another window may be in force: Friday or Monday 00:00 UTC, or premium's end. */
const computeNextChangeMs = (facts: Facts, atMs: number): number => {
  let midnight = (Math.floor(atMs / dayMs) + 1) * dayMs;
  while (isWeekend(midnight) === isWeekend(atMs)) midnight += dayMs;
  return facts.premiumUntilMs > atMs ? Math.min(facts.premiumUntilMs, midnight) : midnight;
};

/**
 * The first instant from `atMs` at which a vote cast at `votedAtMs` holds its voter back no more, if the
 * facts stay what they are. Not always the end of the window in force at `atMs`: a shorter one may begin
 * before.
 */
export const computeWaitEndMs = (
  { facts, votedAtMs }: { readonly facts: Facts; readonly votedAtMs: number },
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

/** Votes older than this can hold nobody back, whatever window is in force. */
export const computeLongestWaitMs = (windows: VoteWindows): number =>
  Math.max(windows.standard.waitMs, windows.premium.waitMs, windows.weekend.waitMs);

/** Time of the newest vote that holds its voter back, 0 for none. */
export const findHoldingSinceMs = (votes: readonly LastVote[], releasedBeforeMs: number): number => {
  let sinceMs = 0;
  for (const vote of votes) {
    const holds = vote.flag === 'held' || (vote.flag === 'cast' && vote.atMs >= releasedBeforeMs);
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
  /** The store's own clock: a vote timed too far ahead of it, or behind it, is refused. */
  readonly nowMs: number;
  /** It was accepted once and then lost: then it may be old. */
  readonly lost?: boolean | undefined;
  readonly windows: VoteWindows;
}

/** Decides one request to vote. Refusals come in the order of the documented checks. */
export const decideVote = (question: VoteContext): VoteVerdict => {
  const { state, atMs } = question;
  if (state.facts.voteBanned) return refuseVote('vote_banned');
  if (!state.facts.listed) return refuseVote('not_listed');
  if (atMs > question.nowMs + limits.clockAheadMaxMs) return refuseVote('clock_ahead');
  const late = atMs < question.nowMs - limits.clockBehindMaxMs;
  if (late && question.lost !== true) return refuseVote('clock_behind');
  const window = selectWindow(state.facts, atMs, question.windows);
  const sinceMs = findHoldingSinceMs(question.votes, state.releasedBeforeMs);
  const retryAtMs = sinceMs + window.waitMs;
  if (sinceMs > 0 && atMs < retryAtMs) return refuseVote('wait', retryAtMs);
  return { kind: 'accepted', count: window.perUser };
};
