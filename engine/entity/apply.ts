/**
 * Applies one item to one entity: the only place in TypeScript that makes a hot store's decision.
 *
 * Pure: takes the entity's slot (its newest listing, current or a tombstone) and two look-ups, and returns
 * the decision, the new slot and the other effects to write. It mutates nothing, and returns an unchanged
 * slot as the same object, so that the caller can tell. The caller must show each item the effects of the
 * batch's earlier ones. Fields that a post lacks keep their value, and 0 is a value; uptime is folded before,
 * with the status and the last post that were valid until then. A visitor counts once per entity.
 *
 * In Lua, too: 3-items.lua, slot-layout.ts (`mergePost`) (ARCHITECTURE.md, *Rules in two languages*).
 */
import assert from 'node:assert/strict';
import type { Incarnation } from '../ids.ts';
import { limits } from '../limits.ts';
import { compile, type PostedFields, postedNames } from './fields.ts';
import { isBefore } from './history.ts';
import type {
  AdjustItem,
  BatchNumber,
  CommitRules,
  Decision,
  ForgetItem,
  InitItem,
  Item,
  PartsItem,
  RememberItem,
  ShardPosition,
  StatsItem,
  VoteItem,
} from './items.ts';
import {
  computePostedMs,
  dropAllParts,
  hasPartsOf,
  judgeParts,
  mergeParts,
  type PartsEffect,
  type PartsLookups,
  type PartsOutcome,
} from './parts.ts';
import { checkFacts, checkTotals } from './snapshot.ts';
import { computeVotes, type HotState, type Totals } from './state.ts';
import { foldUptime } from './uptime.ts';
import { computeLongestWaitMs, decideVote, type LastVote, type LastVoteFlag } from './votes.ts';

/** The newest known listing at an address. `state` is `null` if it is deleted (a tombstone). */
export interface Slot {
  readonly incarnation: Incarnation;
  readonly state: HotState | null;
  /**
   * The position of the row that it was initialised from: its totals include all work up to there. Only a
   * store that may lose its tail keeps it; without it no resent item counts as included in the row.
   */
  readonly base?: ShardPosition;
}

/** The context that all items of one batch share. */
export interface BatchContext {
  /** The store's clock. */
  readonly nowMs: number;
  /** The shard's generation, and its version when the batch begins; `init` compares its row with both. */
  readonly generation: number;
  readonly shardVersion: number;
  /** The version of every state that this batch changes. */
  readonly version: number;
  readonly rules: CommitRules;
  /** Whether the shard has this batch, applied before the current one. */
  hasBatch(batch: BatchNumber): boolean;
}

/** The store's other data about the item's own incarnation. */
export interface Lookups extends PartsLookups {
  /** The user's last votes with fromMs ≤ time ≤ toMs, in any order. Only swept ones may be missing. */
  votes(user: string, fromMs: number, toMs: number): readonly LastVote[];
  visited(visitor: string): boolean;
}

/** Everything that deciding one item needs besides the slot. Created once per item. */
export type ApplyContext = BatchContext & Lookups;

/** A write besides the slot, in the order of the list; `mark` sets the flag of a user's last vote. */
export type Effect =
  | { readonly kind: 'mark'; readonly user: string; readonly atMs: number; readonly flag: LastVoteFlag }
  | { readonly kind: 'visitor'; readonly visitor: string }
  | { readonly kind: 'outbox'; readonly vote: VoteItem; readonly count: number }
  | PartsEffect
  /** Removes the visitors, parts and last votes of an incarnation that is deleted now. */
  | { readonly kind: 'bury'; readonly incarnation: Incarnation };

export interface ItemOutcome {
  readonly decision: Decision;
  readonly slot: Slot | null;
  readonly effects: readonly Effect[];
}

type CurrentSlot = Slot & { readonly state: HotState };

const none: readonly Effect[] = Object.freeze([]);
const applied = Object.freeze({ kind: 'applied' }) satisfies Decision;
const contained = Object.freeze({ kind: 'applied', contained: true }) satisfies Decision;
const absent: Decision = Object.freeze({ kind: 'absent' });
const forgotten: Decision = Object.freeze({ kind: 'forgotten' });
const gap: Decision = Object.freeze({ kind: 'gap' });
const behind: Decision = Object.freeze({ kind: 'behind' });
const overflow: Decision = Object.freeze({ kind: 'overflow' });
const inconsistent: Decision = Object.freeze({ kind: 'inconsistent' });

const keepSlot = (slot: Slot | null, decision: Decision): ItemOutcome => ({ decision, slot, effects: none });

/** Returns the slot with the new state, whose version becomes that of the batch. */
const stampState = (slot: CurrentSlot, state: HotState, context: ApplyContext): CurrentSlot => ({
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
  const state: HotState = { ...totals, facts, flushedVotes: computeVotes(totals), version: context.version };
  const newSlot: Slot = { incarnation: item.target.incarnation, state, base: row };
  return { decision: applied, slot: newSlot, effects: buildPurgeEffects(slot) };
};

/** Records the recent votes of a listing that is not initialised yet, or those that it lacks. */
const applyRemember = (slot: Slot | null, item: RememberItem, context: ApplyContext): ItemOutcome => {
  const isCurrent = slot?.incarnation === item.target.incarnation;
  if (item.readUnder !== context.generation) return keepSlot(slot, isCurrent ? applied : absent);
  const effects = [
    ...item.cast.map((vote) => ({ ...vote, kind: 'mark', flag: 'cast' }) as const),
    ...item.pinned.map((vote) => ({ ...vote, kind: 'mark', flag: 'pinned' }) as const),
  ].filter(({ user, atMs }) => !isCurrent || context.votes(user, atMs, atMs).length === 0);
  return { decision: applied, slot, effects };
};

/**
 * Whether the SQL row that the entity was initialised from already includes a lost item. Compares the row's
 * position with the newest position where the item counted in the row's generation or an earlier one.
 */
const isInRow = ({ base }: Slot, { lostAt }: Item): boolean => {
  if (base === undefined || lostAt === undefined) return false;
  const isKnownToRow = ({ generation }: ShardPosition): boolean => generation <= base.generation;
  return !isBefore(base, lostAt.recounted?.findLast(isKnownToRow) ?? lostAt);
};

/** Whether a resent item must not apply: included already, or older than the last post. */
const isAlreadyApplied = (slot: CurrentSlot, item: Item, { hasBatch }: ApplyContext): boolean => {
  if (item.lostAt === undefined) return false;
  if (item.lostAt.copies?.some(hasBatch)) return true;
  if (item.kind === 'stats') return item.atMs < slot.state.lastStatsPostMs;
  return (item.kind === 'click' || item.kind === 'invite') && isInRow(slot, item);
};

const applyVote = (slot: CurrentSlot, item: Item & VoteItem, context: ApplyContext): ItemOutcome => {
  const { nowMs, rules } = context;
  const { atMs } = item;
  // Bounds the look-up for an old resent vote: it reads only buckets that are certainly still stored.
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
  // If the SQL row already includes a lost vote, the total stays as it is. The vote's outbox entry and the
  // user's last vote may still be missing, so both are written again.
  const isIncluded = isInRow(slot, item);
  const state: HotState = {
    ...slot.state,
    [item.upvote ? 'upvotes' : 'downvotes']: isIncluded ? total : total + count,
  };
  return {
    decision: isIncluded ? { kind: 'voted', count, contained: true } : { kind: 'voted', count },
    slot: stampState(slot, state, context),
    effects: [
      { kind: 'mark', user: item.user, atMs, flag: 'cast' },
      { kind: 'outbox', vote: item, count },
    ],
  };
};

/** Flags only votes that the store still has: older ones make no voter wait. */
const buildVoteEffects = (item: AdjustItem, lookups: Lookups): readonly Effect[] => {
  const effects: Effect[] = [];
  for (const flag of ['released', 'pinned'] as const) {
    for (const { user, atMs } of flag === 'released' ? item.release : item.pinned) {
      const known = lookups.votes(user, atMs, atMs).length > 0;
      if (known) effects.push({ kind: 'mark', user, atMs, flag });
    }
  }
  return effects;
};

/** Bounds a total: a change that is refused would stay open, and all later ones of its listing behind it. */
const boundTotal = (total: number): number => Math.min(limits.counterMax, Math.max(0, total));

const applyAdjust = (slot: CurrentSlot, item: AdjustItem, context: ApplyContext): ItemOutcome => {
  const { state } = slot;
  if (item.sequence <= state.adjustment) return keepSlot(slot, applied);
  if (item.sequence !== state.adjustment + 1) return keepSlot(slot, gap);
  const upvotes = boundTotal(state.upvotes + item.upvotes);
  const downvotes = boundTotal(state.downvotes + item.downvotes);
  const releasedBeforeMs = Math.max(state.releasedBeforeMs, item.releaseBeforeMs);
  const adjusted = { ...state, upvotes, downvotes, releasedBeforeMs, adjustment: item.sequence };
  return {
    decision: applied,
    slot: stampState(slot, adjusted, context),
    effects: buildVoteEffects(item, context),
  };
};

/**
 * Adds a bot's uptime checks up to the given time, or to the store's if that is earlier: a clock that is
 * ahead must not add checks.
 */
const foldItemUptime = (
  { target, atMs }: { target: Item['target']; atMs: number },
  state: HotState,
  context: ApplyContext,
): HotState =>
  target.kind === 'bot' ? foldUptime(state, Math.min(atMs, context.nowMs), context.rules.uptime) : state;

const applyStats = (slot: CurrentSlot, item: StatsItem & Item, context: ApplyContext): ItemOutcome => {
  const state = foldItemUptime(item, slot.state, context);
  const merged = mergeStats(state, item, Math.min(item.atMs, context.nowMs));
  if (merged.parts === undefined || !hasTotals(item))
    return { decision: applied, slot: stampState(slot, merged, context), effects: none };
  const { parts, ...totals } = merged;
  const decision = { ...applied, switched: 'totals' } as const;
  return { decision, slot: stampState(slot, totals, context), effects: dropAllParts(parts) };
};

const toPartsContext = (context: ApplyContext) => ({ ...context, rules: context.rules.parts });

/** Applies what a post or a judgement changed. Uptime is first folded up to `atMs`. */
const adoptParts = (
  slot: CurrentSlot,
  { changes, effects, switched, refused }: PartsOutcome,
  { context, item, atMs }: { context: ApplyContext; item: Item; atMs: number },
): ItemOutcome => {
  const decision = refused ? inconsistent : switched === null ? applied : { ...applied, switched };
  if (changes === null) return keepSlot(slot, decision);
  const folded = foldItemUptime({ target: item.target, atMs }, slot.state, context);
  return { decision, slot: stampState(slot, { ...folded, ...changes }, context), effects };
};

/** Converts the post of a single part without its id to a post of totals; for a bot without such parts. */
const toStatsItem = ({ parts: [part], shardCount, ...item }: PartsItem & Item): StatsItem & Item => ({
  ...item,
  kind: 'stats',
  servers: part?.servers?.toString(),
  users: part?.users?.toString(),
  shards: String(shardCount),
  status: part?.status,
});

const applyParts = (slot: CurrentSlot, item: PartsItem & Item, context: ApplyContext): ItemOutcome => {
  if (item.orTotals === true && !hasPartsOf(slot.state, item.shardCount)) {
    const stats = toStatsItem(item);
    const isContained = isAlreadyApplied(slot, stats, context);
    return isContained ? skipLost(slot, stats, context) : applyStats(slot, stats, context);
  }
  const lost = item.lostAt !== undefined;
  const atMs = computePostedMs(item.atMs, { nowMs: context.nowMs, lost });
  const outcome = mergeParts(slot.state, { item, atMs, lost }, toPartsContext(context));
  return adoptParts(slot, outcome, { context, item, atMs });
};

const applyClick = (slot: CurrentSlot, visitor: string, context: ApplyContext): ItemOutcome => {
  const unique = canCountVisitor(slot.state, context.rules.visitorsMax) && !context.visited(visitor);
  const state = countClick(slot.state, unique);
  if (state === null) return keepSlot(slot, overflow);
  const effects: readonly Effect[] = unique ? [{ kind: 'visitor', visitor }] : none;
  return { decision: applied, slot: stampState(slot, state, context), effects };
};

/**
 * Skips a lost item that must not apply again. A click that the row includes was counted there, but the store
 * may have lost its visitor: it is written again, so that the visitor does not count twice.
 */
const skipLost = (slot: CurrentSlot, item: Item, { rules, visited }: ApplyContext): ItemOutcome => {
  const outcome = keepSlot(slot, contained);
  if (item.kind !== 'click' || !canCountVisitor(slot.state, rules.visitorsMax) || visited(item.visitor))
    return outcome;
  return { ...outcome, effects: [{ kind: 'visitor', visitor: item.visitor }] };
};

/** Applies an item to the current listing of exactly its incarnation. */
const applyToCurrent = (
  slot: CurrentSlot,
  item: Exclude<Item, ForgetItem>,
  context: ApplyContext,
): ItemOutcome => {
  switch (item.kind) {
    case 'init':
      return keepSlot(slot, applied);
    case 'remember':
      return applyRemember(slot, item, context);
    case 'stats':
      return applyStats(slot, item, context);
    case 'parts':
      return applyParts(slot, item, context);
    case 'liveness': {
      const outcome = judgeParts(slot.state, toPartsContext(context));
      return adoptParts(slot, outcome, { context, item, atMs: context.nowMs });
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

const isCurrent = (slot: Slot): slot is CurrentSlot => slot.state !== null;

/**
 * Decides and applies one item. Throws only on a bug (malformed totals, too few itags); the caller must then
 * write nothing of the batch.
 */
export const applyItem = (item: Item, slot: Slot | null, context: ApplyContext): ItemOutcome => {
  const { incarnation } = item.target;
  const isDeleted =
    slot !== null && (slot.incarnation > incarnation || (slot.incarnation === incarnation && !slot.state));
  if (isDeleted) return keepSlot(slot, item.kind === 'forget' ? applied : forgotten);
  if (item.kind === 'forget')
    return { decision: applied, slot: { incarnation, state: null }, effects: buildPurgeEffects(slot) };
  if (slot !== null && slot.incarnation === incarnation && isCurrent(slot)) {
    const isContained = isAlreadyApplied(slot, item, context);
    return isContained ? skipLost(slot, item, context) : applyToCurrent(slot, item, context);
  }
  // The store does not know this listing, or only an earlier one of the same address.
  if (item.kind === 'init') return applyInit(slot, item, context);
  if (item.kind === 'remember') return applyRemember(slot, item, context);
  return keepSlot(slot, absent);
};

/** Whether a new visitor may be recorded and counted. */
export const canCountVisitor = (state: Totals, visitorsMax: number): boolean =>
  state.uniqueClicks < visitorsMax && state.uniqueClicks <= state.clicks;

/** Counts a page view, and a unique view if `unique`; `null` if the counter is at its maximum. */
export const countClick = <State extends Totals>(state: State, unique: boolean): State | null =>
  state.clicks >= limits.counterMax
    ? null
    : { ...state, clicks: state.clicks + 1, uniqueClicks: state.uniqueClicks + (unique ? 1 : 0) };

/** Counts an invite click. */
export const countInvite = <State extends Totals>(state: State): State | null =>
  state.inviteClicks >= limits.counterMax ? null : { ...state, inviteClicks: state.inviteClicks + 1 };

const mergePosted = postedNames.map((name) => `${name}: post.${name} ?? state.${name}`).join();
const merge = compile<(state: Totals, post: PostedFields, lastStatsPostMs: number) => Totals>(
  `(state, post, lastStatsPostMs) => ({ ...state, ${mergePosted}, lastStatsPostMs })`,
);

/** Returns the totals after a post at `postedMs`. The time of the last post never goes back. */
export const mergeStats = <State extends Totals>(state: State, post: PostedFields, postedMs: number): State =>
  merge(state, post, Math.max(state.lastStatsPostMs, postedMs)) as State;

/** Whether the post says more than the status: then it has the last word on all totals. */
export const hasTotals = (post: PostedFields): boolean =>
  postedNames.some((name) => name !== 'status' && post[name] !== undefined);
