/**
 * Applying one item to one entity: the single place where a hot store's decision is made.
 *
 * Pure: it is given the entity's slot (its newest listing, alive or buried) and two look-ups, and returns the
 * decision, the slot after it and what else to write. It never mutates what it is given; an unchanged slot is
 * returned as the same object, which is how the caller knows that it did not change. A caller shows each item
 * the effects of the batch's earlier ones. Used by every adapter whose language is ours, and by the test
 * model.
 */
import assert from 'node:assert/strict';
import type { Incarnation } from '../ids.ts';
import { limits } from '../limits.ts';
import { countClick, countInvite, countsVisitor } from './clicks.ts';
import { isBefore } from './history.ts';
import type {
  AdjustItem,
  CommitRules,
  Decision,
  InitItem,
  Item,
  Place,
  RememberItem,
  VoteItem,
} from './items.ts';
import { checkFacts, checkTotals } from './snapshot.ts';
import type { HotState } from './state.ts';
import { mergeStats } from './stats.ts';
import { foldUptime } from './uptime.ts';
import type { LastVote, VoteMarkFlag } from './votes.ts';
import { decideVote, longestWaitMs } from './votes.ts';

/** The newest listing known at an address. `state` is `null` once it is buried. */
export interface Slot {
  readonly incarnation: Incarnation;
  readonly state: HotState | null;
  /**
   * The row it was initialised from: the work up to there is in its totals. Kept only by a store that may
   * lose its tail; without it no item is taken for one that was lost and is in the row.
   */
  readonly base?: Place;
}

/** What holds for all items of one batch. */
export interface BatchContext {
  /** The store's clock. */
  readonly nowMs: number;
  /** The shard's generation, and its version before the batch (what `init` is compared with). */
  readonly generation: number;
  readonly shardVersion: number;
  /** The version that states changed by this batch get. */
  readonly version: number;
  readonly rules: CommitRules;
}

/** What the store knows beside the slot, of the item's own incarnation. */
export interface Lookups {
  /** The user's votes with fromMs ≤ time ≤ toMs, in any order. Older ones may be missing only when swept. */
  votes(user: string, fromMs: number, toMs: number): readonly LastVote[];
  visited(visitor: string): boolean;
}

/** All that deciding one item needs beside the slot. Made once per item. */
export type ApplyContext = BatchContext & Lookups;

export type Effect =
  | { readonly kind: 'mark'; readonly user: string; readonly atMs: number; readonly flag: VoteMarkFlag }
  | { readonly kind: 'visitor'; readonly visitor: string }
  | { readonly kind: 'outbox'; readonly vote: VoteItem; readonly count: number }
  /** Remove the visitors and last votes of an incarnation that is dead now. */
  | { readonly kind: 'bury'; readonly incarnation: Incarnation };

export interface Outcome {
  readonly decision: Decision;
  readonly slot: Slot | null;
  readonly effects: readonly Effect[];
}

type Living = Slot & { readonly state: HotState };

const none: readonly Effect[] = Object.freeze([]);
const applied: Decision = Object.freeze({ kind: 'applied' });
const absent: Decision = Object.freeze({ kind: 'absent' });
const forgotten: Decision = Object.freeze({ kind: 'forgotten' });
const gap: Decision = Object.freeze({ kind: 'gap' });
const behind: Decision = Object.freeze({ kind: 'behind' });
const overflow: Decision = Object.freeze({ kind: 'overflow' });

const unchanged = (slot: Slot | null, decision: Decision): Outcome => ({ decision, slot, effects: none });

/** The slot with a changed state: stamped with the batch's version. */
const changed = (slot: Living, state: HotState, context: ApplyContext): Living => ({
  ...slot,
  state: { ...state, version: context.version },
});

const bury = (slot: Slot | null): readonly Effect[] =>
  slot?.state ? [{ kind: 'bury', incarnation: slot.incarnation }] : none;

const applyInit = (slot: Slot | null, item: InitItem, context: ApplyContext): Outcome => {
  const { row, totals, facts, readUnder } = item;
  const { generation, shardVersion } = context;
  if (readUnder !== undefined && readUnder !== generation) return unchanged(slot, absent);
  if (isBefore({ generation, version: shardVersion }, row)) return unchanged(slot, behind);
  checkTotals(totals);
  checkFacts(facts);
  const flushedVotes = totals.upvotes - totals.downvotes;
  const state: HotState = { ...totals, facts, flushedVotes, version: context.version };
  const born: Slot = { incarnation: item.target.incarnation, state, base: row };
  return { decision: applied, slot: born, effects: bury(slot) };
};

/** The listing is not there yet: only its voters are written down. */
const applyRemember = (slot: Slot | null, item: RememberItem, { generation }: ApplyContext): Outcome => {
  if (item.readUnder !== generation) return unchanged(slot, absent);
  const effects = [
    ...item.cast.map(({ user, atMs }): Effect => ({ kind: 'mark', user, atMs, flag: 'cast' })),
    ...item.hold.map(({ user, atMs }): Effect => ({ kind: 'mark', user, atMs, flag: 'held' })),
  ];
  return { decision: applied, slot, effects };
};

/** A lost item that the entity got back with the row it was initialised from. */
const inRow = ({ base }: Slot, { lostAt }: Item): boolean =>
  base !== undefined && lostAt !== undefined && !isBefore(base, lostAt);

/** Sent again, but there already, or overtaken by a newer post. The other kinds cannot count twice. */
const isSettled = (slot: Living, item: Item): boolean => {
  if (item.lostAt === undefined) return false;
  if (item.kind === 'stats') return item.atMs < slot.state.lastStatsPostMs;
  return (item.kind === 'click' || item.kind === 'invite') && inRow(slot, item);
};

const applyVote = (slot: Living, item: Item & VoteItem, context: ApplyContext): Outcome => {
  const { nowMs, rules } = context;
  const { atMs } = item;
  // A lost one from long ago is judged by the votes that are surely still kept, so that no look-up is long.
  const fromMs = Math.max(atMs, nowMs - limits.voteBucketMs) - longestWaitMs(rules.windows);
  const toMs = Math.max(nowMs, atMs) + limits.clockAheadMaxMs;
  const votes = context.votes(item.user, fromMs, toMs);
  const lost = item.lostAt !== undefined;
  const verdict = decideVote({ state: slot.state, votes, atMs, nowMs, lost, windows: rules.windows });
  if (verdict.kind === 'refused') return unchanged(slot, verdict);
  const { count } = verdict;
  assert(item.itags.length >= count, `a vote needs ${count} itags`);
  const total = item.upvote ? slot.state.upvotes : slot.state.downvotes;
  if (total > limits.counterMax - count) return unchanged(slot, overflow);
  // Its row and its mark may be lost although the total has it.
  const added = inRow(slot, item) ? 0 : count;
  const state: HotState = { ...slot.state, [item.upvote ? 'upvotes' : 'downvotes']: total + added };
  return {
    decision: { kind: 'voted', count },
    slot: changed(slot, state, context),
    effects: [
      { kind: 'mark', user: item.user, atMs, flag: 'cast' },
      { kind: 'outbox', vote: item, count },
    ],
  };
};

/** Only votes the store still knows are marked: older ones hold nobody back any more. */
const markEffects = (item: AdjustItem, lookups: Lookups): readonly Effect[] => {
  const effects: Effect[] = [];
  for (const flag of ['released', 'held'] as const) {
    for (const { user, atMs } of flag === 'released' ? item.release : item.hold) {
      const known = lookups.votes(user, atMs, atMs).length > 0;
      if (known) effects.push({ kind: 'mark', user, atMs, flag });
    }
  }
  return effects;
};

const applyAdjust = (slot: Living, item: AdjustItem, context: ApplyContext): Outcome => {
  const { state } = slot;
  if (item.sequence <= state.adjustment) return unchanged(slot, applied);
  if (item.sequence !== state.adjustment + 1) return unchanged(slot, gap);
  const upvotes = Math.max(0, state.upvotes + item.upvotes);
  const downvotes = Math.max(0, state.downvotes + item.downvotes);
  if (Math.max(upvotes, downvotes) > limits.counterMax) return unchanged(slot, overflow);
  const releasedBeforeMs = Math.max(state.releasedBeforeMs, item.releaseBeforeMs);
  const adjusted = { ...state, upvotes, downvotes, releasedBeforeMs, adjustment: item.sequence };
  return {
    decision: applied,
    slot: changed(slot, adjusted, context),
    effects: markEffects(item, context),
  };
};

/**
 * Folds a bot's uptime up to the earlier of the item's time and the store's: a clock ahead must not invent
 * checks.
 */
const folded = (item: Item & { readonly atMs: number }, state: HotState, context: ApplyContext): HotState =>
  item.target.kind === 'bot'
    ? foldUptime(state, Math.min(item.atMs, context.nowMs), context.rules.uptime)
    : state;

const applyClick = (slot: Living, visitor: string, context: ApplyContext): Outcome => {
  const unique = countsVisitor(slot.state, context.rules.visitorsMax) && !context.visited(visitor);
  const state = countClick(slot.state, unique);
  if (state === null) return unchanged(slot, overflow);
  const effects: readonly Effect[] = unique ? [{ kind: 'visitor', visitor }] : none;
  return { decision: applied, slot: changed(slot, state, context), effects };
};

/** The items that need a living listing of exactly their incarnation. */
const applyLiving = (slot: Living, item: Item, context: ApplyContext): Outcome => {
  switch (item.kind) {
    case 'init':
    case 'remember':
      return unchanged(slot, applied);
    case 'forget':
      return { decision: applied, slot: { incarnation: slot.incarnation, state: null }, effects: bury(slot) };
    case 'stats': {
      const state = folded(item, slot.state, context);
      const merged = mergeStats(state, item, Math.min(item.atMs, context.nowMs));
      return { decision: applied, slot: changed(slot, merged, context), effects: none };
    }
    case 'facts': {
      if (item.facts.revision <= slot.state.facts.revision) return unchanged(slot, applied);
      checkFacts(item.facts);
      const state = { ...folded(item, slot.state, context), facts: item.facts };
      return { decision: applied, slot: changed(slot, state, context), effects: none };
    }
    case 'invite': {
      const state = countInvite(slot.state);
      if (state === null) return unchanged(slot, overflow);
      return { decision: applied, slot: changed(slot, state, context), effects: none };
    }
    case 'click':
      return applyClick(slot, item.visitor, context);
    case 'vote':
      return applyVote(slot, item, context);
    case 'adjust':
      return applyAdjust(slot, item, context);
  }
};

const isLiving = (slot: Slot): slot is Living => slot.state !== null;

/**
 * Decides and applies one item. Throws only on a bug (malformed totals, too few itags): then nothing may be
 * written.
 */
export const applyItem = (item: Item, slot: Slot | null, context: ApplyContext): Outcome => {
  const { incarnation } = item.target;
  const dead =
    slot !== null && (slot.incarnation > incarnation || (slot.incarnation === incarnation && !slot.state));
  if (dead) return unchanged(slot, item.kind === 'forget' ? applied : forgotten);
  if (slot !== null && slot.incarnation === incarnation && isLiving(slot)) {
    return isSettled(slot, item) ? unchanged(slot, applied) : applyLiving(slot, item, context);
  }
  // Nothing is known of this listing, or only an earlier one of the same address.
  if (item.kind === 'init') return applyInit(slot, item, context);
  if (item.kind === 'remember') return applyRemember(slot, item, context);
  if (item.kind === 'forget') {
    return { decision: applied, slot: { incarnation, state: null }, effects: bury(slot) };
  }
  return unchanged(slot, absent);
};
