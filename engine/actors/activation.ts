/**
 * Activates an entity: one load from the hot store and, only if the store does not know the entity, one read
 * of the ledger and an `init`.
 *
 * Loads of one tick share a call, so a thousand first readers cost one call. *Absent is not zero*: an entity
 * that the hot store does not know is never shown with small numbers; it is initialised from its row (I14).
 * If the hot store knew the entity before, its recent votes are sent first, so that no user votes again
 * within their window (I5).
 */
import type { ItemReply } from '../commit/shard-queue.ts';
import type { CastVote, CommitRules, InitItem, Item } from '../entity/items.ts';
import { toLazyState } from '../entity/state.ts';
import { computeLongestWaitMs } from '../entity/votes.ts';
import { createDamageError, createNotAppliedError } from '../errors.ts';
import { type Shard, type Target, toAddress } from '../ids.ts';
import { limits } from '../limits.ts';
import type { Clock, HotReader, LedgerEntity, LedgerReader, LoadReply, LoadRequest } from '../ports.ts';
import { createBatchLoader } from '../tools/batch-loader.ts';
import type { ActivatedEntity } from './registry.ts';

export interface ActivationParts {
  readonly ledger: LedgerReader;
  readonly clock: Clock;
  /** Sends one item through the output gate; rejects with a `DomainError` if there is no decision. */
  readonly send: (item: Item) => Promise<ItemReply>;
  readonly rules: CommitRules;
  readonly renew: (shards: readonly Shard[]) => Promise<unknown>;
}

/** Loads one entity from the hot store; rejects with a `StorageError`. */
export type Loader = (request: LoadRequest) => Promise<LoadReply>;

/** Gathers requests until the end of the tick, then loads them in calls of at most `limits.loadBatchMax`. */
export const createLoader = (
  hot: Pick<HotReader, 'load'>,
  clock: Clock,
  onLoads: (entities: number) => void = () => {},
): Loader =>
  createBatchLoader({
    loadMany: (requests) => {
      onLoads(requests.length);
      return hot.load(requests);
    },
    keysMax: limits.loadBatchMax,
    batchesMax: Number.POSITIVE_INFINITY,
    schedule: (task) => clock.endOfTick(task),
  });

/** Loads the entity, or initialises it if only the ledger knows it. `null` if neither store does. */
export const activate = async (
  parts: ActivationParts,
  load: Loader,
  target: Target,
): Promise<ActivatedEntity | null> => {
  for (let attempt = 0; attempt < limits.reactivationsMax; attempt++) {
    const reply = await load(target);
    if (reply.outcome === 'found') return { ...reply, state: toLazyState(reply.state) };
    if (reply.outcome === 'damaged') throw createDamageError('activate', toAddress(target.kind, target.id));
    const [row] = await parts.ledger.find([target]);
    if (row === null || row === undefined) return null;
    if (reply.outcome === 'forgotten' && row.ref.incarnation <= reply.incarnation) return null;
    if (row.generation > 0) await sendRecentVoters(parts, row, reply.generation);
    const { decision, state, generation } = await parts.send(toInitItem(row, reply.generation));
    if (decision.kind === 'applied' && state !== null) return { ref: row.ref, generation, state };
    if (decision.kind === 'behind') await parts.renew([row.ref.shard]);
  }
  const detail = `${toAddress(target.kind, target.id)} is neither absent nor initialised`;
  throw createNotAppliedError('activate', 'busy', detail);
};

/**
 * Sends the listing's recent votes to the store before its `init`, or when it lost them, a bounded step at a
 * time. If the store loses its data meanwhile, it refuses these steps as it refuses the `init`.
 */
export const sendRecentVoters = async (
  {
    ledger,
    clock,
    rules,
    send,
  }: Pick<ActivationParts, 'clock' | 'rules' | 'send'> & {
    readonly ledger: Pick<LedgerReader, 'listVoters'>;
  },
  { ref }: Pick<LedgerEntity, 'ref'>,
  readUnder: number,
): Promise<void> => {
  // Two windows, as long as the store itself keeps last votes: a vote may be timed earlier than now.
  const sinceMs = clock.nowMs() - 2 * computeLongestWaitMs(rules.windows);
  const limit = limits.votersPerStep;
  const readPage = (after: CastVote | null) => ledger.listVoters(ref, { sinceMs, after, limit });
  let page = readPage(null);
  for (;;) {
    const votes = await page;
    if (votes.length === 0) return;
    // SQL reads the next page while the store takes this one.
    const next = votes.length < limit ? null : readPage(votes.at(-1) ?? null);
    // Awaited in the next step, if there is one.
    next?.catch(() => {});
    const selectVotes = (isPinned: boolean): CastVote[] =>
      votes.filter(({ pinned }) => pinned === isPinned).map(({ user, atMs }) => ({ user, atMs }));
    const { decision } = await send({
      kind: 'remember',
      target: ref,
      readUnder,
      cast: selectVotes(false),
      pinned: selectVotes(true),
    });
    if (decision.kind !== 'applied' || next === null) return;
    page = next;
  }
};

/** Creates the item that initialises an entity from a ledger row; `readUnder`: see `InitItem`. */
export const toInitItem = (row: LedgerEntity, readUnder: number): InitItem => ({
  kind: 'init',
  target: row.ref,
  facts: row.facts,
  totals: row.totals,
  row: { generation: row.generation, version: row.version },
  readUnder,
});
