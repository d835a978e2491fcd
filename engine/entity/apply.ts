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
import { canCountVisitor, countClick, countInvite } from './clicks.ts';
import { isBefore } from './history.ts';
import type {
  AdjustItem,
  CommitRules,
  Decision,
  InitItem,
  Item,
  RememberItem,
  ShardPosition,
  VoteItem,
} from './items.ts';
import { checkFacts, checkTotals } from './snapshot.ts';
import type { HotState } from './state.ts';
import { mergeStats } from './stats.ts';
import { foldUptime } from './uptime.ts';
import type { LastVote, LastVoteFlag } from './votes.ts';
import { computeLongestWaitMs, decideVote } from './votes.ts';

/** The newest listing known at an address. `state` is `null` once it is buried. */
export interface Slot {
  readonly incarnation: Incarnation;
  readonly state: HotState | null;
  /**
   * The row it was initialised from: the work up to there is in its totals. Kept only by a store that may
   * lose its tail; without it no item is taken for one that was lost and is in the row.
   */
  readonly base?: ShardPosition;
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
  | { readonly kind: 'mark'; readonly user: string; readonly atMs: number; readonly flag: LastVoteFlag }
  | { readonly kind: 'visitor'; readonly visitor: string }
  | { readonly kind: 'outbox'; readonly vote: VoteItem; readonly count: number }
  /** Remove the visitors and last votes of an incarnation that is dead now. */
  | { readonly kind: 'bury'; readonly incarnation: Incarnation };

export interface ItemOutcome {
  readonly decision: Decision;
  readonly slot: Slot | null;
  readonly effects: readonly Effect[];
}

type LivingSlot = Slot & { readonly state: HotState };

const none: readonly Effect[] = Object.freeze([]);
const applied: Decision = Object.freeze({ kind: 'applied' });
const absent: Decision = Object.freeze({ kind: 'absent' });
const forgotten: Decision = Object.freeze({ kind: 'forgotten' });
const gap: Decision = Object.freeze({ kind: 'gap' });
const behind: Decision = Object.freeze({ kind: 'behind' });
const overflow: Decision = Object.freeze({ kind: 'overflow' });

const keepSlot = (slot: Slot | null, decision: Decision): ItemOutcome => ({ decision, slot, effects: none });

/** The slot with a changed state: stamped with the batch's version. */
const stampState = (slot: LivingSlot, state: HotState, context: ApplyContext): LivingSlot => ({
  ...slot,
  state: { ...state, version: context.version },
});

const buildPurgeEffects = (slot: Slot | null): readonly Effect[] =>
  slot?.state ? [{ kind: 'bury', incarnation: slot.incarnation }] : none;

const applyInit = (slot: Slot | null, item: InitItem, context: ApplyContext): ItemOutcome => {
  const { row, totals, facts, readUnder } = item;
  const { generation, shardVersion } = context;
  if (readUnder !== undefined && readUnder !== generation) return keepSlot(slot, absent);
  if (isBefore({ generation, version: shardVersion }, row)) return keepSlot(slot, behind);
  checkTotals(totals);
  checkFacts(facts);
  const flushedVotes = totals.upvotes - totals.downvotes;
  const state: HotState = { ...totals, facts, flushedVotes, version: context.version };
  const born: Slot = { incarnation: item.target.incarnation, state, base: row };
  return { decision: applied, slot: born, effects: buildPurgeEffects(slot) };
};

/** The listing is not there yet: only its voters are written down. */
const applyRemember = (slot: Slot | null, item: RememberItem, { generation }: ApplyContext): ItemOutcome => {
  if (item.readUnder !== generation) return keepSlot(slot, absent);
  const effects = [
    ...item.cast.map(({ user, atMs }): Effect => ({ kind: 'mark', user, atMs, flag: 'cast' })),
    ...item.hold.map(({ user, atMs }): Effect => ({ kind: 'mark', user, atMs, flag: 'held' })),
  ];
  return { decision: applied, slot, effects };
};

/** A lost item that the entity got back with the row it was initialised from. */
const isInRow = ({ base }: Slot, { lostAt }: Item): boolean =>
  base !== undefined && lostAt !== undefined && !isBefore(base, lostAt);

/** Sent again, but there already, or overtaken by a newer post. The other kinds cannot count twice. */
const isAlreadyApplied = (slot: LivingSlot, item: Item): boolean => {
  if (item.lostAt === undefined) return false;
  if (item.kind === 'stats') return item.atMs < slot.state.lastStatsPostMs;
  return (item.kind === 'click' || item.kind === 'invite') && isInRow(slot, item);
};

const applyVote = (slot: LivingSlot, item: Item & VoteItem, context: ApplyContext): ItemOutcome => {
  const { nowMs, rules } = context;
  const { atMs } = item;
  // A lost one from long ago is judged by the votes that are surely still kept, so that no look-up is long.
  const fromMs = Math.max(atMs, nowMs - limits.voteBucketMs) - computeLongestWaitMs(rules.windows);
  const toMs = Math.max(nowMs, atMs) + limits.clockAheadMaxMs;
  const votes = context.votes(item.user, fromMs, toMs);
  const lost = item.lostAt !== undefined;
  const verdict = decideVote({ state: slot.state, votes, atMs, nowMs, lost, windows: rules.windows });
  if (verdict.kind === 'refused') return keepSlot(slot, verdict);
  const { count } = verdict;
  assert(item.itags.length >= count, `a vote needs ${count} itags`);
  const total = item.upvote ? slot.state.upvotes : slot.state.downvotes;
  if (total > limits.counterMax - count) return keepSlot(slot, overflow);
  // Its row and its mark may be lost although the total has it.
  const added = isInRow(slot, item) ? 0 : count;
  const state: HotState = { ...slot.state, [item.upvote ? 'upvotes' : 'downvotes']: total + added };
  return {
    decision: { kind: 'voted', count },
    slot: stampState(slot, state, context),
    effects: [
      { kind: 'mark', user: item.user, atMs, flag: 'cast' },
      { kind: 'outbox', vote: item, count },
    ],
  };
};

/** Only votes the store still knows are marked: older ones hold nobody back any more. */
const buildVoteEffects = (item: AdjustItem, lookups: Lookups): readonly Effect[] => {
  const effects: Effect[] = [];
  for (const flag of ['released', 'held'] as const) {
    for (const { user, atMs } of flag === 'released' ? item.release : item.hold) {
      const known = lookups.votes(user, atMs, atMs).length > 0;
      if (known) effects.push({ kind: 'mark', user, atMs, flag });
    }
  }
  return effects;
};

const applyAdjust = (slot: LivingSlot, item: AdjustItem, context: ApplyContext): ItemOutcome => {
  const { state } = slot;
  if (item.sequence <= state.adjustment) return keepSlot(slot, applied);
  if (item.sequence !== state.adjustment + 1) return keepSlot(slot, gap);
  const upvotes = Math.max(0, state.upvotes + item.upvotes);
  const downvotes = Math.max(0, state.downvotes + item.downvotes);
  if (Math.max(upvotes, downvotes) > limits.counterMax) return keepSlot(slot, overflow);
  const releasedBeforeMs = Math.max(state.releasedBeforeMs, item.releaseBeforeMs);
  const adjusted = { ...state, upvotes, downvotes, releasedBeforeMs, adjustment: item.sequence };
  return {
    decision: applied,
    slot: stampState(slot, adjusted, context),
    effects: buildVoteEffects(item, context),
  };
};

/**
 * Folds a bot's uptime up to the earlier of the item's time and the store's: a clock ahead must not invent
 * checks.
 */
const foldItemUptime = (
  item: Item & { readonly atMs: number },
  state: HotState,
  context: ApplyContext,
): HotState =>
  item.target.kind === 'bot'
    ? foldUptime(state, Math.min(item.atMs, context.nowMs), context.rules.uptime)
    : state;

const applyClick = (slot: LivingSlot, visitor: string, context: ApplyContext): ItemOutcome => {
  const unique = canCountVisitor(slot.state, context.rules.visitorsMax) && !context.visited(visitor);
  const state = countClick(slot.state, unique);
  if (state === null) return keepSlot(slot, overflow);
  const effects: readonly Effect[] = unique ? [{ kind: 'visitor', visitor }] : none;
  return { decision: applied, slot: stampState(slot, state, context), effects };
};

/** The items that need a living listing of exactly their incarnation. */
const applyLiving = (slot: LivingSlot, item: Item, context: ApplyContext): ItemOutcome => {
  switch (item.kind) {
    case 'init':
    case 'remember':
      return keepSlot(slot, applied);
    case 'forget':
      return {
        decision: applied,
        slot: { incarnation: slot.incarnation, state: null },
        effects: buildPurgeEffects(slot),
      };
    case 'stats': {
      const state = foldItemUptime(item, slot.state, context);
      const merged = mergeStats(state, item, Math.min(item.atMs, context.nowMs));
      return { decision: applied, slot: stampState(slot, merged, context), effects: none };
    }
    case 'facts': {
      if (item.facts.revision <= slot.state.facts.revision) return keepSlot(slot, applied);
      checkFacts(item.facts);
      const state = { ...foldItemUptime(item, slot.state, context), facts: item.facts };
      return { decision: applied, slot: stampState(slot, state, context), effects: none };
    }
    case 'invite': {
      const state = countInvite(slot.state);
      if (state === null) return keepSlot(slot, overflow);
      return { decision: applied, slot: stampState(slot, state, context), effects: none };
    }
    case 'click':
      return applyClick(slot, item.visitor, context);
    case 'vote':
      return applyVote(slot, item, context);
    case 'adjust':
      return applyAdjust(slot, item, context);
  }
};

const isLiving = (slot: Slot): slot is LivingSlot => slot.state !== null;

/**
 * Decides and applies one item. Throws only on a bug (malformed totals, too few itags): then nothing may be
 * written.
 */
export const applyItem = (item: Item, slot: Slot | null, context: ApplyContext): ItemOutcome => {
  const { incarnation } = item.target;
  const dead =
    slot !== null && (slot.incarnation > incarnation || (slot.incarnation === incarnation && !slot.state));
  if (dead) return keepSlot(slot, item.kind === 'forget' ? applied : forgotten);
  if (slot !== null && slot.incarnation === incarnation && isLiving(slot)) {
    return isAlreadyApplied(slot, item) ? keepSlot(slot, applied) : applyLiving(slot, item, context);
  }
  // Nothing is known of this listing, or only an earlier one of the same address.
  if (item.kind === 'init') return applyInit(slot, item, context);
  if (item.kind === 'remember') return applyRemember(slot, item, context);
  if (item.kind === 'forget') {
    return { decision: applied, slot: { incarnation, state: null }, effects: buildPurgeEffects(slot) };
  }
  return keepSlot(slot, absent);
};
