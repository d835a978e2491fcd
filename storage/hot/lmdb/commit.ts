/**
 * Decides the batches of one commit.
 *
 * Owns the overlay: the changes of earlier items of the call, which later items see instead of the stored
 * values. `decide` reads and applies everything synchronously and changes nothing; `toChanges` lists what the
 * journal records and pending.ts then adopts. The rules are elsewhere: `applyItem` decides.
 */
import assert from 'node:assert/strict';
import type { ApplyContext, BatchContext, Effect, ItemOutcome, Slot } from '../../../engine/entity/apply.ts';
import { applyItem } from '../../../engine/entity/apply.ts';
import { extendChainHash } from '../../../engine/entity/history.ts';
import type {
  Batch,
  BatchNumber,
  BatchReply,
  CommitRules,
  Decision,
  Item,
} from '../../../engine/entity/items.ts';
import { type LazyState, toLazyState } from '../../../engine/entity/state.ts';
import { type LastVote, lastVoteFlags } from '../../../engine/entity/votes.ts';
import type { EntityAddress, EntityRef, Incarnation, Shard } from '../../../engine/ids.ts';
import type { OutboxArray, PartArray } from './codec.ts';
import { packDecisions, packOutbox, packVisitor, unpackDecisions } from './codec.ts';
import type { AppliedBatch, Changes } from './journal-records.ts';
import { toBucket, toBucketKey, toOutboxKey, toProducerKey, toVisitorsKey, toVoterKey } from './keys.ts';
import { dropListing, planPartsEffect, readPart, readTable } from './parts.ts';
import { readStoredSlot, readVotesArray } from './pending.ts';
import type { VotesArray } from './tables.ts';
import type { Writer } from './writer.ts';

interface OpenSlot {
  readonly shard: Shard;
  /** The stored slot cannot be read; `slot` is `null`. */
  readonly damaged: boolean;
  slot: Slot | null;
  /** 0 when the slot is clean or missing. */
  since: number;
  changed: boolean;
}
/** One voter's votes in one bucket. */
interface OpenVotes {
  array: VotesArray;
  changed: boolean;
}
export interface CommitPlan {
  readonly nowMs: number;
  readonly replies: BatchReply[];
  readonly batches: AppliedBatch[];
  readonly slots: Map<EntityAddress, OpenSlot>;
  /** The vote records read or changed so far. A record that gets a vote is not read a second time. */
  readonly votes: Map<string, OpenVotes>;
  readonly visitors: Map<string, Set<string>>;
  /** Keys of the visitors of deleted listings. */
  readonly removedVisitors: Set<string>;
  readonly outbox: Map<string, OutboxArray>;
  /** `null` removes a part. */
  readonly parts: Map<string, PartArray | null>;
}
interface Overlay {
  readonly writer: Writer;
  readonly rules: CommitRules;
  readonly plan: CommitPlan;
}

const openSlot = ({ plan, writer }: Overlay, shard: Shard, address: EntityAddress): OpenSlot => {
  const existing = plan.slots.get(address);
  if (existing) return existing;
  const found = readStoredSlot(writer, shard, address);
  const damaged = found === 'damaged';
  const stored = damaged ? null : found;
  const since = stored?.since ?? 0;
  const opened: OpenSlot = { shard, damaged, slot: stored?.slot ?? null, since, changed: false };
  plan.slots.set(address, opened);
  return opened;
};

/** Thrown while an item is decided, before any of its effects is planned. */
export class DamagedVotes extends Error {}

const openVotes = (writer: Writer, plan: CommitPlan | null, key: string): OpenVotes => {
  const existing = plan?.votes.get(key);
  if (existing !== undefined) return existing;
  const stored = readVotesArray(writer, key);
  if (stored === null) throw new DamagedVotes(key);
  const opened = { array: stored ?? [], changed: false };
  plan?.votes.set(key, opened);
  return opened;
};

/**
 * Reads a voter's votes between two times from their buckets. The caller must bound the distance. Throws when
 * a record of them is damaged.
 */
export const readVotes = (
  writer: Writer,
  plan: CommitPlan | null,
  range: { readonly voter: string; readonly fromMs: number; readonly toMs: number },
): readonly LastVote[] => {
  const votes: LastVote[] = [];
  for (let bucket = toBucket(range.fromMs); bucket <= toBucket(range.toMs); bucket++) {
    const { array } = openVotes(writer, plan, `${toBucketKey(bucket)} ${range.voter}`);
    for (let index = 0; index < array.length; index += 2) {
      const atMs = array[index] ?? 0;
      const flag = lastVoteFlags[array[index + 1] ?? 0] ?? 'cast';
      if (atMs >= range.fromMs && atMs <= range.toMs) votes.push({ atMs, flag });
    }
  }
  return votes;
};

const createContext = (overlay: Overlay, target: EntityRef, batch: BatchContext): ApplyContext => ({
  ...batch,
  votes: (user, fromMs, toMs) => {
    const { writer, plan } = overlay;
    const voter = toVoterKey(toVisitorsKey(target.shard, target.address, target.incarnation), user);
    return readVotes(writer, plan, { voter, fromMs, toMs });
  },
  visited: (visitor) => {
    const key = toVisitorsKey(target.shard, target.address, target.incarnation);
    if (overlay.plan.visitors.get(key)?.has(visitor)) return true;
    const { tables, pending } = overlay.writer;
    const pendingVisitors = pending.visitors.get(key);
    if (pendingVisitors?.added.has(visitor)) return true;
    // Also checks that it is a number, before it gets into a record.
    const packed = packVisitor(visitor);
    return !pendingVisitors?.removed && tables.visitors.doesExist(key, packed);
  },
  part: (shardCount, id) => readPart(overlay, target, { shardCount, id }),
  parts: (shardCount) => readTable(overlay, target, shardCount),
});

const planVote = (overlay: Overlay, listing: string, vote: Effect & { readonly kind: 'mark' }): void => {
  const { writer, plan } = overlay;
  const key = `${toBucketKey(toBucket(vote.atMs))} ${toVoterKey(listing, vote.user)}`;
  const opened = openVotes(writer, plan, key);
  const array = [...opened.array];
  let index = 0;
  while (index < array.length && array[index] !== vote.atMs) index += 2;
  array[index] = vote.atMs;
  array[index + 1] = lastVoteFlags.indexOf(vote.flag);
  opened.array = array;
  opened.changed = true;
};

const planEffect = (overlay: Overlay, target: EntityRef, effect: Effect): void => {
  const { plan } = overlay;
  const listing = toVisitorsKey(target.shard, target.address, target.incarnation);
  if (effect.kind === 'mark') planVote(overlay, listing, effect);
  else if (effect.kind === 'visitor') {
    const seen = plan.visitors.get(listing) ?? new Set();
    plan.visitors.set(listing, seen.add(effect.visitor));
  } else if (effect.kind === 'outbox') {
    const { user, upvote, atMs, itags, origin, source } = effect.vote;
    for (const [voteNumber, itag] of itags.slice(0, effect.count).entries()) {
      const array = packOutbox({ ref: target, user, upvote, atMs, voteNumber, origin, source });
      plan.outbox.set(toOutboxKey(target.shard, itag), array);
    }
  } else if (effect.kind === 'part' || effect.kind === 'drop_parts') {
    planPartsEffect(overlay, listing, effect);
  } else {
    // The last votes of the deleted listing stay until swept; a later listing has other keys.
    const deleted = toVisitorsKey(target.shard, target.address, effect.incarnation);
    plan.visitors.delete(deleted);
    plan.removedVisitors.add(deleted);
    dropListing(overlay, deleted);
  }
};

/** Applies the item; `null` when a record that it needs is damaged. */
const applyOrRefuse = (
  { damaged, slot }: OpenSlot,
  item: Item,
  context: ApplyContext,
): ItemOutcome | null => {
  if (damaged) return null;
  try {
    return applyItem(item, slot, context);
  } catch (error) {
    if (error instanceof DamagedVotes) return null;
    throw error;
  }
};

const decideItem = (overlay: Overlay, item: Item, context: BatchContext): Decision => {
  const { target } = item;
  const openedSlot = openSlot(overlay, target.shard, target.address);
  const outcome = applyOrRefuse(openedSlot, item, createContext(overlay, target, context));
  if (outcome === null) return { kind: 'damaged' };
  for (const effect of outcome.effects) planEffect(overlay, target, effect);
  if (outcome.slot === openedSlot.slot) return outcome.decision;
  openedSlot.slot = outcome.slot;
  openedSlot.changed = true;
  if (item.kind === 'init' || item.kind === 'forget') openedSlot.since = 0;
  else if (openedSlot.since === 0) openedSlot.since = context.version;
  return outcome.decision;
};

/**
 * Lists, for each item, the state of the newest listing named at its address; `null` when that has no state.
 */
const listStates = (overlay: Overlay, batch: Batch): readonly (LazyState | null)[] => {
  const newest = new Map<EntityAddress, Incarnation>();
  for (const { target } of batch.items) {
    const current = newest.get(target.address);
    if (current === undefined || current < target.incarnation) newest.set(target.address, target.incarnation);
  }
  return batch.items.map(({ target: { address } }) => {
    const { slot } = openSlot(overlay, batch.shard, address);
    return slot?.state && slot.incarnation === newest.get(address) ? toLazyState(slot.state) : null;
  });
};

const hasChanges = (plan: CommitPlan, batch: Batch): boolean =>
  batch.items.some((item) => plan.slots.get(item.target.address)?.changed);

const decideBatch = (overlay: Overlay, batch: Batch): BatchReply => {
  const shard = overlay.writer.mirror[batch.shard];
  assert(shard, `shard ${batch.shard} does not exist`);
  const { generation } = shard;
  const last = shard.producers.get(batch.producer)?.sequence ?? 0;
  const reply = (
    outcome: BatchReply['outcome'],
    decisions: BatchReply['decisions'],
    position = { last, version: shard.version, chainHash: shard.chainHash },
  ): BatchReply => {
    const states = listStates(overlay, batch);
    const { version, chainHash } = position;
    return { outcome, lastSequence: position.last, version, chainHash, generation, decisions, states };
  };
  if (generation === 0) return reply('uninitialised', null);
  if (batch.sequence <= last) {
    const stored = batch.sequence === last ? shard.producers.get(batch.producer)?.decisions : undefined;
    return reply('duplicate', stored === undefined ? null : unpackDecisions(stored));
  }
  if (batch.sequence !== last + 1) return reply('gap', null);
  const { plan, rules } = overlay;
  const version = shard.version + 1;
  const hasBatch = ({ producer, sequence }: BatchNumber): boolean =>
    (shard.producers.get(producer)?.sequence ?? 0) >= sequence;
  const context = { nowMs: plan.nowMs, generation, shardVersion: shard.version, version, rules, hasBatch };
  assert(
    batch.items.every(({ target }) => target.shard === batch.shard),
    'an item belongs to another shard',
  );
  const decisions = batch.items.map((item) => decideItem(overlay, item, context));
  const changed = hasChanges(plan, batch);
  const after = changed ? version : shard.version;
  const chainHash = changed ? extendChainHash(shard.chainHash, batch) : shard.chainHash;
  const { producer, sequence } = batch;
  // Builds the key only for its check: a name that is too long must throw before the record is written.
  toProducerKey(batch.shard, producer);
  const packed = packDecisions(decisions);
  plan.batches.push({ shard: batch.shard, producer, sequence, version: after, chainHash, decisions: packed });
  return reply('applied', decisions, { last: batch.sequence, version: after, chainHash });
};

/** Decides all batches against the stored values. Synchronous; changes nothing. Throws on an invalid item. */
export const decide = (
  batches: readonly Batch[],
  { nowMs, ...parts }: Omit<Overlay, 'plan'> & { readonly nowMs: number },
): CommitPlan => {
  const plan: CommitPlan = {
    nowMs,
    replies: [],
    batches: [],
    slots: new Map(),
    votes: new Map(),
    visitors: new Map(),
    removedVisitors: new Set(),
    outbox: new Map(),
    parts: new Map(),
  };
  const overlay: Overlay = { ...parts, plan };
  for (const batch of batches) plan.replies.push(decideBatch(overlay, batch));
  return plan;
};

/** Lists the values that the plan changes. */
export const toChanges = (plan: CommitPlan): Changes => ({
  nowMs: plan.nowMs,
  batches: plan.batches,
  slots: [...plan.slots].flatMap(([address, { shard, slot, since, changed }]) =>
    changed && slot !== null ? [{ shard, address, stored: { slot, since } }] : [],
  ),
  votes: [...plan.votes].flatMap(([key, { array, changed }]) => (changed ? [[key, array] as const] : [])),
  removedVisitors: [...plan.removedVisitors],
  visitors: [...plan.visitors].map(([listing, visitors]) => [listing, [...visitors]] as const),
  outbox: [...plan.outbox],
  parts: [...plan.parts],
});
