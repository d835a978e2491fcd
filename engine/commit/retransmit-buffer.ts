/**
 * The ring: confirmed work that is kept for a while, because the store may lose its newest part.
 *
 * Only where the store says so (`mayLoseTail`); elsewhere nothing is kept and nothing is asked. What the
 * store turns out to have lost is sent again as new batches, before any new turn of its shard, each item with
 * the place where it was applied once: so the store can tell what came back with a row of SQL (I1, I2). Only
 * what took effect is kept. Bounds: `limits.retransmitKeepMs`, counted while the store answers, and
 * `limits.retransmitBytesMax`, above which the gate takes no new work. Only the gate uses this file.
 */

import assert from 'node:assert/strict';
import type { Batch, BatchReply, CommitRules, Item, ShardPosition } from '../entity/items.ts';
import type { Shard } from '../ids.ts';
import { limits } from '../limits.ts';
import type { EngineMeters } from '../meters.ts';
import type { Clock, HotWriter } from '../ports.ts';
import { type ItemReply, type ShardQueue, Turn } from './shard-queue.ts';

export interface RetransmitBufferParts {
  readonly hot: HotWriter;
  readonly clock: Clock;
  readonly meters: EngineMeters;
  readonly rules: () => CommitRules;
  /** Brings an entity to life that the store lost; rejects while that cannot be. False: there is none. */
  readonly reactivate: (item: Item) => Promise<boolean>;
  /** Puts lost work in front of its line. False when the gate has stopped. */
  readonly resend: (shard: Shard, turns: readonly Turn[]) => boolean;
  /** Has the line ask for the last number of this producer. */
  readonly queryLastSequence: (shard: Shard, producer: string) => void;
}

interface BufferEntry {
  readonly producer: string;
  readonly sequence: number;
  readonly position: ShardPosition;
  readonly items: readonly Item[];
  readonly keptMs: number;
}

export interface RetransmitBuffer {
  /** Keeps what took effect. To be called before the line takes over the reply. */
  keep(shardQueue: ShardQueue, batch: Batch, reply: BatchReply): void;
  /** The store has shown that nothing of the shard is lost: what is old enough goes. */
  forgetOld(shard: Shard): void;
  /** Whether the store, asked for the producer's last number, has lost some of it. */
  hasLost(batch: Batch, reply: BatchReply): boolean;
  /** Asks the store what it still has of these lines, and sends the rest again. One call at a time. */
  findLost(shardQueues: readonly ShardQueue[]): Promise<void>;
  isFull(): boolean;
}

interface BufferState extends RetransmitBufferParts {
  readonly entries: Map<Shard, BufferEntry[]>;
  bytes: number;
  polling: boolean;
}

/** A ring where the store may lose its tail, `null` elsewhere: there all this costs nothing. */
export const createRetransmitBuffer = (parts: RetransmitBufferParts): RetransmitBuffer | null => {
  if (!parts.hot.mayLoseTail) return null;
  const buffer: BufferState = { ...parts, entries: new Map(), bytes: 0, polling: false };
  return {
    keep: (shardQueue, batch, reply) => keep(buffer, shardQueue, { batch, reply }),
    forgetOld: (shard) => forgetOld(buffer, shard),
    hasLost: (batch, reply) => {
      const kept = buffer.entries.get(batch.shard) ?? [];
      return kept.some((entry) => entry.producer === batch.producer && entry.sequence > reply.lastSequence);
    },
    findLost: (shardQueues) => findLost(buffer, shardQueues),
    isFull: () => buffer.bytes >= limits.retransmitBytesMax,
  };
};

/** About what an item costs in memory. */
export const estimateBytes = (item: Item): number => {
  if (item.kind === 'vote') return 400 + 2 * item.user.length;
  if (item.kind === 'stats') return 300 + (item.shardList?.length ?? 0);
  if (item.kind === 'adjust') return 400 + 100 * (item.release.length + item.hold.length);
  return 250;
};

const addBytes = (buffer: BufferState, bytes: number): void => {
  buffer.bytes += bytes;
  assert(buffer.bytes >= 0, 'what leaves the ring was in it');
  buffer.meters.recordRetransmitBytes(buffer.bytes);
};

const sumBytes = (items: readonly Item[]): number =>
  items.reduce((sum, item) => sum + estimateBytes(item), 0);

/**
 * Where a batch was applied; of one that was applied some time ago the earliest place it can have had, so
 * that nothing counts twice.
 */
const toPosition = (shardQueue: ShardQueue, { outcome, generation, version }: BatchReply): ShardPosition => {
  if (outcome === 'applied') return { generation, version };
  return { generation, version: shardQueue.generation === generation ? shardQueue.version + 1 : 0 };
};

const keep = (
  buffer: BufferState,
  shardQueue: ShardQueue,
  { batch, reply }: { readonly batch: Batch; readonly reply: BatchReply },
): void => {
  const { decisions } = reply;
  const items = batch.items.filter((item, index) => {
    const kind = decisions?.[index]?.kind;
    // Who needs an entity that the store lost initialises it again, from the row of that time.
    if (item.kind === 'init' || item.kind === 'remember') return false;
    return kind === 'applied' || kind === 'voted';
  });
  if (items.length === 0) return;
  const { producer, sequence } = batch;
  const keptMs = buffer.clock.monotonicMs();
  const entry: BufferEntry = { producer, sequence, position: toPosition(shardQueue, reply), items, keptMs };
  const kept = buffer.entries.get(shardQueue.shard);
  if (kept === undefined) buffer.entries.set(shardQueue.shard, [entry]);
  else kept.push(entry);
  addBytes(buffer, sumBytes(items));
  if (!buffer.polling) schedulePoll(buffer);
};

const forgetOld = (buffer: BufferState, shard: Shard): void => {
  const kept = buffer.entries.get(shard);
  if (kept === undefined) return;
  const beforeMs = buffer.clock.monotonicMs() - limits.retransmitKeepMs;
  const young = kept.findIndex(({ keptMs }) => keptMs > beforeMs);
  const old = kept.splice(0, young < 0 ? kept.length : young);
  for (const { items } of old) addBytes(buffer, -sumBytes(items));
  if (kept.length === 0) buffer.entries.delete(shard);
};

/** One timer for all lines. A line that has something to send learns by that. */
const schedulePoll = (buffer: BufferState): void => {
  buffer.polling = true;
  buffer.clock.after(limits.retransmitPollMs, () => {
    buffer.polling = false;
    for (const [shard, kept] of buffer.entries)
      buffer.queryLastSequence(shard, (kept.at(-1) as BufferEntry).producer);
    if (buffer.entries.size > 0) schedulePoll(buffer);
  });
};

const findLost = async (buffer: BufferState, shardQueues: readonly ShardQueue[]): Promise<void> => {
  assert(new Set(shardQueues).size === shardQueues.length, 'one batch per shard in a call');
  const left = shardQueues.map(({ shard }) => ({
    shard,
    names: [...new Set((buffer.entries.get(shard) ?? []).map(({ producer }) => producer))],
    last: new Map<string, number>(),
  }));
  for (let open = left; ; ) {
    open = open.filter(({ names, last }) => last.size < names.length);
    if (open.length === 0) break;
    const batches = open.map(({ shard, names, last }) => {
      return { shard, producer: names[last.size] as string, sequence: 0, items: [] };
    });
    const replies = await buffer.hot.commit(batches, buffer.rules());
    for (const [index, { names, last }] of open.entries())
      last.set(names[last.size] as string, (replies[index] as BatchReply).lastSequence);
  }
  for (const { shard, last } of left) takeLost(buffer, shard, last);
};

/** What is lost leaves the ring, and comes in again with its new batch. Its bytes count until then. */
const takeLost = (buffer: BufferState, shard: Shard, last: ReadonlyMap<string, number>): void => {
  const kept = buffer.entries.get(shard) ?? [];
  const isLost = (entry: BufferEntry): boolean => entry.sequence > (last.get(entry.producer) ?? 0);
  const lost = kept.filter(isLost);
  const rest = kept.filter((entry) => !isLost(entry));
  if (rest.length === 0) buffer.entries.delete(shard);
  else buffer.entries.set(shard, rest);
  const turns = lost.flatMap(({ items, position }) =>
    items.map((item) => toResendTurn(buffer, { ...item, lostAt: item.lostAt ?? position })),
  );
  if (turns.length === 0) return;
  buffer.meters.recordResends(turns.length);
  buffer.resend(shard, turns);
};

const toResendTurn = (buffer: BufferState, item: Item): Turn =>
  new Turn(item, Number.POSITIVE_INFINITY, {
    answer: (reply) => handleDecision(buffer, item, reply),
    fail: () => tryLater(buffer, item),
  });

const handleDecision = (buffer: BufferState, item: Item, { decision }: ItemReply): void => {
  if (decision.kind === 'absent') reactivate(buffer, item);
  else {
    addBytes(buffer, -estimateBytes(item));
    const counted = decision.kind === 'applied' || decision.kind === 'voted';
    buffer.meters.recordResendOutcome(
      counted ? 'applied' : decision.kind === 'refused' ? 'merged' : 'deleted',
    );
  }
};

/** The store lost the entity too. Initialises it again, then sends the item again. */
const reactivate = (buffer: BufferState, item: Item): void => {
  buffer.reactivate(item).then(
    (lives) => {
      if (lives) sendAgain(buffer, item);
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
