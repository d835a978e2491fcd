/**
 * Deciding and writing the batches of one commit.
 *
 * Owns the overlay: what earlier items of the call changed, in front of what is on disk. `decide` reads and
 * applies everything synchronously and writes nothing; `putPlan` then puts the outcome in one transaction,
 * and `adoptPlan` moves the mirror once that is on disk. A plan that is not put leaves no trace. No rules
 * live here: `applyItem` decides.
 */
import assert from 'node:assert/strict';
import type { ApplyContext, BatchContext, Effect, Slot } from '../../../engine/entity/apply.ts';
import { applyItem } from '../../../engine/entity/apply.ts';
import { extendChainHash } from '../../../engine/entity/history.ts';
import type { Batch, BatchReply, CommitRules, Decision, Item } from '../../../engine/entity/items.ts';
import { type LazyState, toLazyState } from '../../../engine/entity/lazy-state.ts';
import type { LastVote } from '../../../engine/entity/votes.ts';
import { lastVoteFlags } from '../../../engine/entity/votes.ts';
import type { EntityAddress, EntityRef, Incarnation, Shard } from '../../../engine/ids.ts';
import type { DecisionsRow, OutboxRow } from './codec.ts';
import { packDecisions, packOutbox, packSlot, packVisitor, unpackDecisions } from './codec.ts';
import {
  toBucket,
  toBucketKey,
  toDirtyKey,
  toOutboxKey,
  toProducerKey,
  toSlotKey,
  toVisitorsKey,
  toVoterKey,
} from './keys.ts';
import type { ShardMirror, Tables, VotesRow } from './tables.ts';
import { putMeta, readDecisions } from './tables.ts';
import { type RecentRows, readStoredSlot } from './writer.ts';

interface OpenSlot {
  readonly shard: Shard;
  /** As on disk; `since` 0 when clean or unknown. */
  readonly storedSince: number;
  slot: Slot | null;
  since: number;
  changed: boolean;
}
interface PlannedBatch {
  readonly batch: Batch;
  readonly producer: string;
  readonly version: number;
  readonly mark: number;
  readonly decisions: DecisionsRow;
}
export interface CommitPlan {
  readonly nowMs: number;
  readonly replies: BatchReply[];
  readonly batches: PlannedBatch[];
  readonly slots: Map<EntityAddress, OpenSlot>;
  readonly votes: Map<string, VotesRow>;
  readonly visitors: Map<string, Set<string>>;
  readonly tombstoned: Set<string>;
  readonly outbox: Map<string, OutboxRow>;
}
interface DecisionContext {
  readonly tables: Tables;
  readonly recent: RecentRows;
  readonly mirror: readonly ShardMirror[];
  readonly rules: CommitRules;
  readonly plan: CommitPlan;
}

const openSlot = (deciding: DecisionContext, shard: Shard, address: EntityAddress): OpenSlot => {
  const { plan } = deciding;
  const known = plan.slots.get(address);
  if (known) return known;
  const stored = readStoredSlot(deciding, shard, address);
  const since = stored?.since ?? 0;
  const opened: OpenSlot = { shard, storedSince: since, slot: stored?.slot ?? null, since, changed: false };
  plan.slots.set(address, opened);
  return opened;
};

const getVotesRow = (tables: Tables, plan: CommitPlan | null, key: string): VotesRow =>
  plan?.votes.get(key) ?? tables.votes.get(key) ?? [];

/** A voter's votes between two times, from the buckets that hold them. The caller bounds the distance. */
export const readVotes = (
  tables: Tables,
  plan: CommitPlan | null,
  range: { readonly voter: string; readonly fromMs: number; readonly toMs: number },
): readonly LastVote[] => {
  const found: LastVote[] = [];
  for (let bucket = toBucket(range.fromMs); bucket <= toBucket(range.toMs); bucket++) {
    const row = getVotesRow(tables, plan, `${toBucketKey(bucket)} ${range.voter}`);
    for (let index = 0; index < row.length; index += 2) {
      const atMs = row[index] ?? 0;
      const flag = lastVoteFlags[row[index + 1] ?? 0] ?? 'cast';
      if (atMs >= range.fromMs && atMs <= range.toMs) found.push({ atMs, flag });
    }
  }
  return found;
};

const createContext = (deciding: DecisionContext, target: EntityRef, batch: BatchContext): ApplyContext => ({
  ...batch,
  votes: (user, fromMs, toMs) => {
    const { tables, plan } = deciding;
    const voter = toVoterKey(toVisitorsKey(target.shard, target.address, target.incarnation), user);
    return readVotes(tables, plan, { voter, fromMs, toMs });
  },
  visited: (visitor) => {
    const key = toVisitorsKey(target.shard, target.address, target.incarnation);
    if (deciding.plan.visitors.get(key)?.has(visitor)) return true;
    const { tables, recent } = deciding;
    const name = `${key} ${visitor}`;
    if (recent.visitors.get(name) === true) return true;
    const known = tables.visitors.doesExist(key, packVisitor(visitor));
    if (known) recent.visitors.set(name, true);
    return known;
  },
});

const planMark = (
  deciding: DecisionContext,
  listing: string,
  mark: Effect & { readonly kind: 'mark' },
): void => {
  const { tables, plan } = deciding;
  const key = `${toBucketKey(toBucket(mark.atMs))} ${toVoterKey(listing, mark.user)}`;
  const row = [...getVotesRow(tables, plan, key)];
  let index = 0;
  while (index < row.length && row[index] !== mark.atMs) index += 2;
  row[index] = mark.atMs;
  row[index + 1] = lastVoteFlags.indexOf(mark.flag);
  plan.votes.set(key, row);
};

const planEffect = (deciding: DecisionContext, target: EntityRef, effect: Effect): void => {
  const { plan } = deciding;
  const listing = toVisitorsKey(target.shard, target.address, target.incarnation);
  if (effect.kind === 'mark') planMark(deciding, listing, effect);
  else if (effect.kind === 'visitor') {
    const seen = plan.visitors.get(listing) ?? new Set();
    plan.visitors.set(listing, seen.add(effect.visitor));
  } else if (effect.kind === 'outbox') {
    const { user, upvote, atMs, itags } = effect.vote;
    for (const [voteNumber, itag] of itags.slice(0, effect.count).entries()) {
      const row = packOutbox({ ref: target, user, upvote, atMs, voteNumber });
      plan.outbox.set(toOutboxKey(target.shard, itag), row);
    }
  } else {
    // Its last votes stay until swept: no key of a later listing can meet them.
    const dead = toVisitorsKey(target.shard, target.address, effect.incarnation);
    plan.visitors.delete(dead);
    plan.tombstoned.add(dead);
  }
};

const decideItem = (deciding: DecisionContext, item: Item, context: BatchContext): Decision => {
  const { target } = item;
  const open = openSlot(deciding, target.shard, target.address);
  const outcome = applyItem(item, open.slot, createContext(deciding, target, context));
  for (const effect of outcome.effects) planEffect(deciding, target, effect);
  if (outcome.slot === open.slot) return outcome.decision;
  open.slot = outcome.slot;
  open.changed = true;
  if (item.kind === 'init' || item.kind === 'forget') open.since = 0;
  else if (open.since === 0) open.since = context.version;
  return outcome.decision;
};

/** For each item the state of the newest listing named at its address; `null` when that does not live. */
const listStates = (deciding: DecisionContext, batch: Batch): readonly (LazyState | null)[] => {
  const newest = new Map<EntityAddress, Incarnation>();
  for (const { target } of batch.items) {
    const known = newest.get(target.address);
    if (known === undefined || known < target.incarnation) newest.set(target.address, target.incarnation);
  }
  return batch.items.map(({ target: { address } }) => {
    const { slot } = openSlot(deciding, batch.shard, address);
    return slot?.state && slot.incarnation === newest.get(address) ? toLazyState(slot.state) : null;
  });
};

const hasChanges = (plan: CommitPlan, batch: Batch): boolean =>
  batch.items.some((item) => plan.slots.get(item.target.address)?.changed);

const decideBatch = (deciding: DecisionContext, batch: Batch): BatchReply => {
  const shard = deciding.mirror[batch.shard];
  assert(shard, `shard ${batch.shard}`);
  const { generation } = shard;
  const last = shard.producers.get(batch.producer)?.sequence ?? 0;
  const reply = (
    outcome: BatchReply['outcome'],
    decisions: BatchReply['decisions'],
    now = { last, version: shard.version, mark: shard.mark },
  ): BatchReply => {
    const states = listStates(deciding, batch);
    const { version, mark: chainHash } = now;
    return { outcome, lastSequence: now.last, version, chainHash, generation, decisions, states };
  };
  if (generation === 0) return reply('uninitialised', null);
  if (batch.sequence <= last) {
    const row =
      batch.sequence === last ? readDecisions(deciding.tables, batch.shard, batch.producer) : undefined;
    return reply('duplicate', row === undefined ? null : unpackDecisions(row));
  }
  if (batch.sequence !== last + 1) return reply('gap', null);
  const { plan, rules } = deciding;
  const version = shard.version + 1;
  const context = { nowMs: plan.nowMs, generation, shardVersion: shard.version, version, rules };
  assert(
    batch.items.every(({ target }) => target.shard === batch.shard),
    'an item of another shard',
  );
  const decisions = batch.items.map((item) => decideItem(deciding, item, context));
  const changed = hasChanges(plan, batch);
  const after = changed ? version : shard.version;
  const mark = changed ? extendChainHash(shard.mark, batch) : shard.mark;
  // Keys are made before the transaction: one that is refused must not leave half of it.
  const producer = toProducerKey(batch.shard, batch.producer);
  plan.batches.push({ batch, producer, version: after, mark, decisions: packDecisions(decisions) });
  return reply('applied', decisions, { last: batch.sequence, version: after, mark });
};

export interface DecideOptions {
  readonly tables: Tables;
  readonly recent: RecentRows;
  readonly mirror: readonly ShardMirror[];
  readonly rules: CommitRules;
  readonly nowMs: number;
}

/** Decides all batches against what is on disk. Synchronous; writes nothing. Throws on a bug in an item. */
export const decide = (batches: readonly Batch[], options: DecideOptions): CommitPlan => {
  const plan: CommitPlan = {
    nowMs: options.nowMs,
    replies: [],
    batches: [],
    slots: new Map(),
    votes: new Map(),
    visitors: new Map(),
    tombstoned: new Set(),
    outbox: new Map(),
  };
  const deciding: DecisionContext = { ...options, plan };
  for (const batch of batches) plan.replies.push(decideBatch(deciding, batch));
  return plan;
};

const putSlot = (tables: Tables, address: EntityAddress, open: OpenSlot): void => {
  if (!open.changed || open.slot === null) return;
  const key = toSlotKey(open.shard, address);
  tables.slots.put(key, packSlot({ slot: open.slot, since: open.since }));
  if (open.since === open.storedSince) return;
  if (open.storedSince > 0) tables.dirty.remove(toDirtyKey(key, open.storedSince));
  if (open.since > 0) tables.dirty.put(toDirtyKey(key, open.since), 0);
};

/** Puts a plan; to be called inside one transaction. */
export const putPlan = (tables: Tables, mirror: readonly ShardMirror[], plan: CommitPlan): void => {
  for (const { batch, producer, version, mark: chainHash, decisions } of plan.batches) {
    const { shard, sequence } = batch;
    const { generation, version: before } = mirror[shard] as ShardMirror;
    if (version !== before) putMeta(tables, shard, { generation, version, chainHash });
    tables.producers.put(producer, [sequence, plan.nowMs, decisions]);
  }
  for (const [address, open] of plan.slots) putSlot(tables, address, open);
  for (const [key, row] of plan.votes) tables.votes.put(key, row);
  for (const key of plan.tombstoned) tables.visitors.remove(key);
  for (const [key, visitors] of plan.visitors) {
    for (const visitor of visitors) tables.visitors.put(key, packVisitor(visitor));
  }
  for (const [key, row] of plan.outbox) tables.outbox.put(key, row);
};

/** Moves the mirror and the recent rows to what is on disk now. */
export const adoptPlan = (mirror: readonly ShardMirror[], recent: RecentRows, plan: CommitPlan): void => {
  for (const [address, { changed, slot, since }] of plan.slots) {
    if (changed && slot !== null) recent.slots.set(address, { slot, since });
  }
  for (const [listing, visitors] of plan.visitors) {
    for (const visitor of visitors) recent.visitors.set(`${listing} ${visitor}`, true);
  }
  for (const { batch, version, mark } of plan.batches) {
    const shard = mirror[batch.shard] as ShardMirror;
    shard.version = version;
    shard.mark = mark;
    shard.producers.set(batch.producer, { sequence: batch.sequence, seenMs: plan.nowMs });
  }
};
