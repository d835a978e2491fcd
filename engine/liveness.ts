/**
 * Judges the parts of bots when they are due. Posts alone are not enough: a part that stops posting sends no
 * request on which it could be judged.
 *
 * The store keeps the due times and judges by its own clock; this file only sends it the bots that are due,
 * one at a time, so that no call blocks the store for long. Every node takes the shards that it flushes; when
 * two nodes take the same shard, the second judgement changes nothing.
 */
import type { ItemReply } from './commit/shard-queue.ts';
import type { Item } from './entity/items.ts';
import { countLive } from './entity/parts.ts';
import type { EntityAddress, EntityRef, Shard } from './ids.ts';
import { limits } from './limits.ts';
import type { Clock, EngineMeters, HotUpkeep } from './ports.ts';

/** The stale parts of one bot, until it must be judged again. */
interface StaleBot {
  readonly parts: number;
  readonly shard: Shard;
  readonly dueMs: number;
}

export interface LivenessParts {
  readonly hot: Pick<HotUpkeep, 'listDueParts'>;
  readonly clock: Pick<Clock, 'nowMs'>;
  readonly meters: Pick<EngineMeters, 'recordPartsSwitch' | 'recordStaleParts'>;
  readonly listShards: () => readonly Shard[];
  /** Sends one item through the output gate; rejects with a `DomainError` if there is no decision. */
  readonly send: (item: Item) => Promise<ItemReply>;
  /** Bots that had stale parts when this node last judged them. */
  readonly stale: Map<EntityAddress, StaleBot>;
}

/** This long after its due time, a bot that this node has not judged was deleted or is judged elsewhere. */
const judgedLateMsMax = 60_000;

/** Judges what is due, a bounded number of bots. Hot when it resolves. */
export const judgeDueParts = async (parts: LivenessParts, signal: AbortSignal): Promise<void> => {
  const shards = parts.listShards();
  for (let round = 0; round < limits.dueRoundsMax; round++) {
    const due = await parts.hot.listDueParts(shards, limits.dueBotsMax);
    for (const target of due) {
      if (signal.aborted) return;
      recordJudged(parts, target, await parts.send({ kind: 'liveness', target }));
    }
    if (due.length < limits.dueBotsMax) break;
  }
  forgetOld(parts, new Set(shards));
  const counts = [...parts.stale.values()].map((bot) => bot.parts);
  parts.meters.recordStaleParts(counts.reduce((sum, count) => sum + count, 0));
};

const recordJudged = ({ meters, stale }: LivenessParts, target: EntityRef, reply: ItemReply): void => {
  const { decision, state } = reply;
  if (decision.kind === 'applied' && decision.switched !== undefined)
    meters.recordPartsSwitch(decision.switched);
  const { current, dueMs } = state?.read().parts ?? { current: null, dueMs: 0 };
  const count = current === null ? 0 : current.seen - countLive(current);
  stale.delete(target.address);
  if (count > 0 && stale.size < limits.staleBotsMax)
    stale.set(target.address, { parts: count, shard: target.shard, dueMs });
};

const forgetOld = ({ stale, clock }: LivenessParts, shards: ReadonlySet<Shard>): void => {
  for (const [address, bot] of stale) {
    const isLate = clock.nowMs() > bot.dueMs + judgedLateMsMax;
    if (isLate || !shards.has(bot.shard)) stale.delete(address);
  }
};
