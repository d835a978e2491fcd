/**
 * The ring: confirmed work that is kept for a while, because the store may lose its newest part.
 *
 * Only where the store says so (`mayLoseTail`); elsewhere nothing is kept and nothing is asked. What the
 * store turns out to have lost is sent again as new batches, before any new turn of its shard, each item with
 * the place where it was applied once: so the store can tell what came back with a row of SQL (I1, I2). Only
 * what took effect is kept. Bounds: `limits.ringKeptMs`, counted while the store
 * answers, and `limits.ringBytesMax`, above which the gate takes no new work. Only the gate uses this file.
 */

import assert from 'node:assert/strict';
import type { Batch, BatchReply, CommitRules, Item, Place } from './entity/items.ts';
import type { Shard } from './ids.ts';
import { limits } from './limits.ts';
import type { EngineMeters } from './meters.ts';
import type { Clock, HotWriter } from './ports.ts';
import { type Decided, type ShardLine, Turn } from './shard.ts';

export interface RingParts {
  readonly hot: HotWriter;
  readonly clock: Clock;
  readonly meters: EngineMeters;
  readonly rules: () => CommitRules;
  /** Brings an entity to life that the store lost; rejects while that cannot be. False: there is none. */
  readonly revive: (item: Item) => Promise<boolean>;
  /** Puts lost work in front of its line. False when the gate has stopped. */
  readonly resend: (shard: Shard, turns: readonly Turn[]) => boolean;
  /** Has the line ask for the last number of this producer. */
  readonly ask: (shard: Shard, producer: string) => void;
}

interface Entry {
  readonly producer: string;
  readonly sequence: number;
  readonly place: Place;
  readonly items: readonly Item[];
  readonly keptMs: number;
}

export interface Ring {
  /** Keeps what took effect. To be called before the line takes over the reply. */
  keep(line: ShardLine, batch: Batch, reply: BatchReply): void;
  /** The store has shown that nothing of the shard is lost: what is old enough goes. */
  forgetOld(shard: Shard): void;
  /** Whether the store, asked for the producer's last number, has lost some of it. */
  misses(batch: Batch, reply: BatchReply): boolean;
  /** Asks the store what it still has of these lines, and sends the rest again. One call at a time. */
  findLost(lines: readonly ShardLine[]): Promise<void>;
  full(): boolean;
}

interface State extends RingParts {
  readonly entries: Map<Shard, Entry[]>;
  bytes: number;
  asking: boolean;
}

/** A ring where the store may lose its tail, `null` elsewhere: there all this costs nothing. */
export const createRing = (parts: RingParts): Ring | null => {
  if (!parts.hot.mayLoseTail) return null;
  const ring: State = { ...parts, entries: new Map(), bytes: 0, asking: false };
  return {
    keep: (line, batch, reply) => keep(ring, line, { batch, reply }),
    forgetOld: (shard) => forgetOld(ring, shard),
    misses: (batch, reply) => {
      const kept = ring.entries.get(batch.shard) ?? [];
      return kept.some((entry) => entry.producer === batch.producer && entry.sequence > reply.lastSequence);
    },
    findLost: (lines) => findLost(ring, lines),
    full: () => ring.bytes >= limits.ringBytesMax,
  };
};

/** About what an item costs in memory. */
export const bytesOf = (item: Item): number => {
  if (item.kind === 'vote') return 400 + 2 * item.user.length;
  if (item.kind === 'stats') return 300 + (item.shardList?.length ?? 0);
  if (item.kind === 'adjust') return 400 + 100 * (item.release.length + item.hold.length);
  return 250;
};

const hold = (ring: State, bytes: number): void => {
  ring.bytes += bytes;
  assert(ring.bytes >= 0, 'what leaves the ring was in it');
  ring.meters.ring(ring.bytes);
};

const sizeOf = (items: readonly Item[]): number => items.reduce((sum, item) => sum + bytesOf(item), 0);

/**
 * Where a batch was applied; of one that was applied some time ago the earliest place it can have had, so
 * that nothing counts twice.
 */
const placeOf = (line: ShardLine, { outcome, generation, version }: BatchReply): Place => {
  if (outcome === 'applied') return { generation, version };
  return { generation, version: line.generation === generation ? line.version + 1 : 0 };
};

const keep = (
  ring: State,
  line: ShardLine,
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
  const keptMs = ring.clock.monotonicMs();
  const entry: Entry = { producer, sequence, place: placeOf(line, reply), items, keptMs };
  const kept = ring.entries.get(line.shard);
  if (kept === undefined) ring.entries.set(line.shard, [entry]);
  else kept.push(entry);
  hold(ring, sizeOf(items));
  if (!ring.asking) askLater(ring);
};

const forgetOld = (ring: State, shard: Shard): void => {
  const kept = ring.entries.get(shard);
  if (kept === undefined) return;
  const beforeMs = ring.clock.monotonicMs() - limits.ringKeptMs;
  const young = kept.findIndex(({ keptMs }) => keptMs > beforeMs);
  const old = kept.splice(0, young < 0 ? kept.length : young);
  for (const { items } of old) hold(ring, -sizeOf(items));
  if (kept.length === 0) ring.entries.delete(shard);
};

/** One timer for all lines. A line that has something to send learns by that. */
const askLater = (ring: State): void => {
  ring.asking = true;
  ring.clock.after(limits.ringPollMs, () => {
    ring.asking = false;
    for (const [shard, kept] of ring.entries) ring.ask(shard, (kept.at(-1) as Entry).producer);
    if (ring.entries.size > 0) askLater(ring);
  });
};

const findLost = async (ring: State, lines: readonly ShardLine[]): Promise<void> => {
  assert(new Set(lines).size === lines.length, 'one batch per shard in a call');
  const left = lines.map(({ shard }) => ({
    shard,
    names: [...new Set((ring.entries.get(shard) ?? []).map(({ producer }) => producer))],
    last: new Map<string, number>(),
  }));
  for (let open = left; ; ) {
    open = open.filter(({ names, last }) => last.size < names.length);
    if (open.length === 0) break;
    const batches = open.map(({ shard, names, last }) => {
      return { shard, producer: names[last.size] as string, sequence: 0, items: [] };
    });
    const replies = await ring.hot.commit(batches, ring.rules());
    for (const [index, { names, last }] of open.entries())
      last.set(names[last.size] as string, (replies[index] as BatchReply).lastSequence);
  }
  for (const { shard, last } of left) takeLost(ring, shard, last);
};

/** What is lost leaves the ring, and comes in again with its new batch. Its bytes count until then. */
const takeLost = (ring: State, shard: Shard, last: ReadonlyMap<string, number>): void => {
  const kept = ring.entries.get(shard) ?? [];
  const isLost = (entry: Entry): boolean => entry.sequence > (last.get(entry.producer) ?? 0);
  const lost = kept.filter(isLost);
  const rest = kept.filter((entry) => !isLost(entry));
  if (rest.length === 0) ring.entries.delete(shard);
  else ring.entries.set(shard, rest);
  const turns = lost.flatMap(({ items, place }) =>
    items.map((item) => turnOf(ring, { ...item, lostAt: item.lostAt ?? place })),
  );
  if (turns.length === 0) return;
  ring.meters.resent(turns.length);
  ring.resend(shard, turns);
};

const turnOf = (ring: State, item: Item): Turn =>
  new Turn(item, Number.POSITIVE_INFINITY, {
    answer: (decided) => judge(ring, item, decided),
    fail: () => tryLater(ring, item),
  });

const judge = (ring: State, item: Item, { decision }: Decided): void => {
  if (decision.kind === 'absent') revive(ring, item);
  else {
    hold(ring, -bytesOf(item));
    const counted = decision.kind === 'applied' || decision.kind === 'voted';
    ring.meters.healed(counted ? 'applied' : decision.kind === 'refused' ? 'merged' : 'gone');
  }
};

/** The store lost the entity too. Initialises it again, then sends the item again. */
const revive = (ring: State, item: Item): void => {
  ring.revive(item).then(
    (lives) => {
      if (lives) sendAgain(ring, item);
      else {
        hold(ring, -bytesOf(item));
        ring.meters.healed('gone');
      }
    },
    () => tryLater(ring, item),
  );
};

const tryLater = (ring: State, item: Item): void => {
  ring.clock.after(limits.ringPollMs, () => sendAgain(ring, item));
};

const sendAgain = (ring: State, item: Item): void => {
  if (!ring.resend(item.target.shard, [turnOf(ring, item)])) hold(ring, -bytesOf(item));
};
