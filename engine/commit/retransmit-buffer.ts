/**
 * The retransmit buffer: keeps recently confirmed work, because the store may lose its newest part, the tail.
 *
 * Exists only if the store says so (`mayLoseTail`). Work that the store has lost is resent in new batches,
 * before any new turn of its shard. Each item carries the positions at which it counted, so that the store
 * does not count it again if the entity's SQL row already contains it (I1, I2). Only items that took effect
 * are kept. Bounds: `limits.retransmitKeepMs`, or `retransmitKeepSafeMs` as long as the pulse sees no
 * risk, counted while the store answers; and `limits.retransmitBytesMax`, above which the gate takes no new
 * work. Only `output-gate.ts` uses this file.
 */

import assert from 'node:assert/strict';
import type { Batch, BatchNumber, BatchReply, CommitRules, Item, ShardPosition } from '../entity/items.ts';
import type { Shard } from '../ids.ts';
import { limits } from '../limits.ts';
import type { Clock, EngineMeters, HotWriter } from '../ports.ts';
import { type ItemReply, isCounted, markLost, markRecounted, type ShardQueue, Turn } from './shard-queue.ts';

export interface RetransmitBufferParts {
  readonly hot: HotWriter;
  readonly clock: Clock;
  readonly meters: EngineMeters;
  readonly rules: CommitRules;
  /** Reactivates the entity of a lost item; false if it no longer exists. Rejects while a store fails. */
  readonly reactivate: (item: Item) => Promise<boolean>;
  /** Queues lost work before the shard's open turns. False when the gate has stopped. */
  readonly resend: (shard: Shard, turns: readonly Turn[]) => boolean;
  /** Queues a query for the last sequence number of this producer. */
  readonly queryLastSequence: (shard: Shard, producer: string) => void;
}

interface BufferEntry extends BatchNumber {
  readonly position: ShardPosition;
  readonly items: readonly Item[];
  readonly keptMs: number;
}

interface BufferState extends RetransmitBufferParts {
  readonly entries: Map<Shard, BufferEntry[]>;
  bytes: number;
  polling: boolean;
}

export type RetransmitBuffer = NonNullable<ReturnType<typeof createRetransmitBuffer>>;

/** Creates the buffer if the store may lose its newest writes; else returns `null`. */
export const createRetransmitBuffer = (parts: RetransmitBufferParts) => {
  if (!parts.hot.mayLoseTail) return null;
  const buffer: BufferState = { ...parts, entries: new Map(), bytes: 0, polling: false };
  return {
    /** Keeps the items that took effect. To be called before the shard queue adopts the reply's version. */
    keep: (shardQueue: ShardQueue, batch: Batch, reply: BatchReply) =>
      keep(buffer, shardQueue, { batch, reply }),
    /** Drops the shard's old entries, after the store has shown that it lost nothing. */
    forgetOld: (shard: Shard) => forgetOld(buffer, shard),
    /** Whether the reply's last sequence number shows that the store lost entries of this producer. */
    hasLost: (batch: Batch, reply: BatchReply) => {
      const entries = buffer.entries.get(batch.shard) ?? [];
      return entries.some(
        (entry) => entry.producer === batch.producer && entry.sequence > reply.lastSequence,
      );
    },
    /** Queries which entries the store still has; resends the others and marks their shard queues broken. */
    findLost: (shardQueues: readonly ShardQueue[]) => findLost(buffer, shardQueues),
    /** Resends the items of turns without a waiter that were `absent`, after initialising their entities. */
    resendAbsent: (turns: readonly Turn[], reply: BatchReply) => resendAbsent(buffer, turns, reply),
    /** Whether the buffer holds `limits.retransmitBytesMax` or more. */
    isFull: () => buffer.bytes >= limits.retransmitBytesMax,
  };
};

/** Estimates an item's memory roughly, in bytes. */
export const estimateBytes = (item: Item): number => {
  if (item.kind === 'vote')
    return 400 + 2 * item.user.length + (item.origin?.length ?? 0) + (item.source?.length ?? 0);
  if (item.kind === 'stats') return 300 + (item.shardList?.length ?? 0);
  if (item.kind === 'parts') return 300 + 100 * item.parts.length;
  if (item.kind === 'adjust') return 400 + 100 * (item.release.length + item.pinned.length);
  return 250;
};

const addBytes = (buffer: BufferState, bytes: number): void => {
  buffer.bytes += bytes;
  assert(buffer.bytes >= 0, 'only bytes that were added leave the buffer');
  buffer.meters.recordRetransmitBytes(buffer.bytes);
};

const sumBytes = (items: readonly Item[]): number =>
  items.reduce((sum, item) => sum + estimateBytes(item), 0);

/**
 * Finds the position at which a batch was applied; for a duplicate the earliest possible one, so that nothing
 * counts twice.
 */
const toPosition = (shardQueue: ShardQueue, { outcome, generation, version }: BatchReply): ShardPosition => {
  if (outcome === 'applied') return { generation, version };
  return { generation, version: shardQueue.generation === generation ? shardQueue.version + 1 : 0 };
};

const keep = (
  buffer: BufferState,
  shardQueue: ShardQueue,
  { batch, reply }: { batch: Batch; reply: BatchReply },
): void => {
  const position = toPosition(shardQueue, reply);
  const items = batch.items.flatMap((item, index) => {
    const decision = reply.decisions?.[index];
    // Not kept: the next use of a lost entity initialises it from its current SQL row, and the next run of
    // the job `bot_shards` judges its parts.
    if (item.kind === 'init' || item.kind === 'remember' || item.kind === 'liveness') return [];
    return decision !== undefined && isCounted(decision) ? [markRecounted(item, decision, position)] : [];
  });
  if (items.length === 0) return;
  const { producer, sequence } = batch;
  const keptMs = buffer.clock.monotonicMs();
  const entry: BufferEntry = { producer, sequence, position, items, keptMs };
  const entries = buffer.entries.get(shardQueue.shard);
  if (entries === undefined) buffer.entries.set(shardQueue.shard, [entry]);
  else entries.push(entry);
  addBytes(buffer, sumBytes(items));
  if (!buffer.polling) schedulePoll(buffer);
};

const forgetOld = (buffer: BufferState, shard: Shard): void => {
  const entries = buffer.entries.get(shard);
  if (entries === undefined) return;
  const isSafe = buffer.hot.pulse?.mayLoseTail() === false;
  const keepMs = isSafe ? limits.retransmitKeepSafeMs : limits.retransmitKeepMs;
  const beforeMs = buffer.clock.monotonicMs() - keepMs;
  const firstYoung = entries.findIndex(({ keptMs }) => keptMs > beforeMs);
  const old = entries.splice(0, firstYoung < 0 ? entries.length : firstYoung);
  for (const { items } of old) addBytes(buffer, -sumBytes(items));
  if (entries.length === 0) buffer.entries.delete(shard);
};

/** Queries all shards after a while. A shard that has turns to send sends no query: their reply says it. */
const schedulePoll = (buffer: BufferState): void => {
  buffer.polling = true;
  buffer.clock.after(limits.retransmitPollMs, () => {
    buffer.polling = false;
    for (const [shard, entries] of buffer.entries)
      buffer.queryLastSequence(shard, (entries.at(-1) as BufferEntry).producer);
    if (buffer.entries.size > 0) schedulePoll(buffer);
  });
};

const findLost = async (buffer: BufferState, shardQueues: readonly ShardQueue[]): Promise<void> => {
  assert(new Set(shardQueues).size === shardQueues.length, 'one batch per shard in a call');
  const searches = shardQueues.map(({ shard }) => ({
    shard,
    producers: [...new Set(buffer.entries.get(shard)?.map(({ producer }) => producer))],
    lastSequences: new Map<string, number>(),
  }));
  for (let open = searches; ; ) {
    open = open.filter(({ producers, lastSequences }) => lastSequences.size < producers.length);
    if (open.length === 0) break;
    const batches = open.map(({ shard, producers, lastSequences }) => {
      return { shard, producer: producers[lastSequences.size] as string, sequence: 0, items: [] };
    });
    const replies = await buffer.hot.commit(batches, buffer.rules);
    for (const [index, { producers, lastSequences }] of open.entries())
      lastSequences.set(producers[lastSequences.size] as string, (replies[index] as BatchReply).lastSequence);
  }
  for (const [index, { shard, lastSequences }] of searches.entries())
    if (takeLost(buffer, shard, lastSequences)) (shardQueues[index] as ShardQueue).broken = true;
};

/**
 * Takes lost items out of the buffer and resends them; their new batch adds them again. Returns whether there
 * are any.
 */
const takeLost = (buffer: BufferState, shard: Shard, lastSequences: ReadonlyMap<string, number>): boolean => {
  const has = ({ producer, sequence }: BufferEntry): boolean =>
    sequence <= (lastSequences.get(producer) ?? 0);
  const lost: Item[] = [];
  const rest: BufferEntry[] = [];
  for (const entry of buffer.entries.get(shard) ?? []) {
    if (has(entry)) rest.push(entry);
    else lost.push(...entry.items.map((item) => markLost(item, entry)));
  }
  if (rest.length === 0) buffer.entries.delete(shard);
  else buffer.entries.set(shard, rest);
  const turns = lost.map((item) => toResendTurn(buffer, item));
  if (turns.length === 0) return false;
  buffer.meters.recordResends(turns.length);
  buffer.resend(shard, turns);
  return true;
};

const toResendTurn = (buffer: BufferState, item: Item): Turn => {
  const turn: Turn = new Turn(item, Number.POSITIVE_INFINITY, {
    answer: (reply) => handleDecision(buffer, item, reply),
    fail: () => tryLater(buffer, turn.item),
  });
  return turn;
};

const handleDecision = (buffer: BufferState, item: Item, { decision }: ItemReply): void => {
  if (decision.kind === 'absent') reactivate(buffer, item);
  else {
    addBytes(buffer, -estimateBytes(item));
    const merged = decision.kind === 'refused' || decision.kind === 'inconsistent';
    buffer.meters.recordResendOutcome(isCounted(decision) ? 'applied' : merged ? 'merged' : 'deleted');
  }
};

const resendAbsent = (buffer: BufferState, turns: readonly Turn[], { decisions }: BatchReply): void => {
  for (const [index, { waiter, item }] of turns.entries()) {
    if (waiter !== null || decisions?.[index]?.kind !== 'absent') continue;
    addBytes(buffer, estimateBytes(item));
    buffer.meters.recordResends(1);
    reactivate(buffer, item);
  }
};

/** Initialises an entity that the store lost, too, then resends the item. */
const reactivate = (buffer: BufferState, item: Item): void => {
  buffer.reactivate(item).then(
    (exists) => {
      if (exists) sendAgain(buffer, item);
      else {
        addBytes(buffer, -estimateBytes(item));
        buffer.meters.recordResendOutcome('deleted');
      }
    },
    () => tryLater(buffer, item),
  );
};

const tryLater = (buffer: BufferState, item: Item): void => {
  buffer.clock.after(limits.retransmitPollMs, () => sendAgain(buffer, item));
};

const sendAgain = (buffer: BufferState, item: Item): void => {
  if (!buffer.resend(item.target.shard, [toResendTurn(buffer, item)])) addBytes(buffer, -estimateBytes(item));
};
