/**
 * How an entity comes to life: one look at the hot store, then, only if that does not know it, one at the
 * ledger and an `init`.
 *
 * Looks of one tick travel together, so a thousand first readers cost one call. *Absent is not zero*: an
 * entity the hot store does not know is never answered with small numbers, it is initialised from its row
 * (I14). One that the hot store knew once gets its voters back first, so that nobody votes again within his
 * window (I5).
 */

import type { ItemReply } from '../commit/shard-queue.ts';
import type { CastVote, CommitRules, InitItem, Item } from '../entity/items.ts';
import { toLazyState } from '../entity/lazy-state.ts';
import { computeLongestWaitMs } from '../entity/votes.ts';
import { StorageError } from '../errors.ts';
import { type EntityKind, type Shard, toAddress } from '../ids.ts';
import { limits } from '../limits.ts';
import type { Clock, HotReader, LedgerEntity, LedgerReader, LoadReply, LoadRequest } from '../ports.ts';
import { createBatchLoader } from '../tools/batch-loader.ts';
import type { ActivatedEntity } from './registry.ts';

export interface ActivationParts {
  readonly ledger: LedgerReader;
  readonly clock: Clock;
  /** Sends one item through the gate; rejects with a `DomainError` when there is no decision. */
  readonly send: (item: Item) => Promise<ItemReply>;
  readonly rules: () => CommitRules;
  readonly renew: (shards: readonly Shard[]) => Promise<void>;
}

/** Reads of the hot store, gathered per tick. */
export type Loader = (request: LoadRequest) => Promise<LoadReply>;

/** Gathers requests until the end of the tick, then reads them in calls of at most `limits.loadBatchMax`. */
export const createLoader = (hot: Pick<HotReader, 'load'>, clock: Clock): Loader =>
  createBatchLoader({
    loadMany: (requests) => hot.load(requests),
    keysMax: limits.loadBatchMax,
    batchesMax: Number.POSITIVE_INFINITY,
    schedule: (task) => clock.endOfTick(task),
  });

/** Finds the entity, initialising it when only the ledger knows it. `null` when nobody does. */
export const activate = async (
  parts: ActivationParts,
  load: Loader,
  target: { readonly kind: EntityKind; readonly id: string },
): Promise<ActivatedEntity | null> => {
  for (let attempt = 0; attempt < limits.reactivationsMax; attempt++) {
    const reply = await load(target);
    if (reply.outcome === 'found') return { ...reply, state: toLazyState(reply.state) };
    const [row] = await parts.ledger.find([target]);
    if (row === null || row === undefined) return null;
    if (reply.outcome === 'forgotten' && row.ref.incarnation <= reply.incarnation) return null;
    if (row.generation > 0) await sendRecentVoters(parts, row, reply.generation);
    const { decision, state, generation } = await parts.send(toInitItem(row, reply.generation));
    if (decision.kind === 'applied' && state !== null) return { ref: row.ref, generation, state };
    if (decision.kind === 'behind') await parts.renew([row.ref.shard]);
  }
  throw new StorageError('activate', {
    outcome: 'not_applied',
    reason: 'busy',
    detail: `${toAddress(target.kind, target.id)} is neither absent nor initialised`,
  });
};

/**
 * Tells the store who voted lately, a bounded step at a time, before the entity is there. If the store is
 * lost meanwhile these steps are refused like the `init` that follows.
 */
const sendRecentVoters = async (
  { ledger, clock, rules, send }: ActivationParts,
  { ref }: LedgerEntity,
  readUnder: number,
): Promise<void> => {
  // Two windows, as the store itself keeps them: a vote may be timed earlier than now.
  const sinceMs = clock.nowMs() - 2 * computeLongestWaitMs(rules().windows);
  const limit = limits.votersPerStep;
  let after: CastVote | null = null;
  for (;;) {
    const votes = await ledger.listVoters(ref, { sinceMs, after, limit });
    if (votes.length === 0) return;
    const marks = (wanted: boolean): CastVote[] =>
      votes.filter(({ pinned }) => pinned === wanted).map(({ user, atMs }) => ({ user, atMs }));
    const { decision } = await send({
      kind: 'remember',
      target: ref,
      readUnder,
      cast: marks(false),
      hold: marks(true),
    });
    if (decision.kind !== 'applied' || votes.length < limit) return;
    after = votes.at(-1) ?? null;
  }
};

/** What brings a row of the ledger into the store; `readUnder`: the shard's generation before it was read. */
export const toInitItem = (row: LedgerEntity, readUnder: number): InitItem => ({
  kind: 'init',
  target: row.ref,
  facts: row.facts,
  totals: row.totals,
  row: { generation: row.generation, version: row.version },
  readUnder,
});
