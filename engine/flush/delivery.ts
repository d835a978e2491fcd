/**
 * Delivers the ledger's decisions about past votes (void, redeem, reset, delete) to the hot store, and edits
 * of facts whose node died before it delivered them.
 *
 * Adjustments are delivered in ledger order until the store acknowledges them; each is idempotent by its
 * dense sequence number, so repeating a delivery after a crash changes nothing (I6, I12).
 */

import type { Decision, FactsItem, Item } from '../entity/items.ts';
import { DomainError, type StorageReason, toMessage } from '../errors.ts';
import type { Target } from '../ids.ts';
import { limits } from '../limits.ts';
import type { Adjustment, AdjustmentLedger, EditLedger, LedgerEntity, LedgerReader } from '../ports.ts';
import { toReason } from './round.ts';

export interface DeliveryParts {
  readonly ledger: Pick<LedgerReader, 'find'> & EditLedger & AdjustmentLedger;
  /** Sends one item; activates its entity first if the store does not know it. */
  readonly send: (item: Item) => Promise<Decision>;
}

/** Waits for all, even if one fails: none may still run when the next round begins. Rejects as that one. */
export const awaitAll = async <Work extends readonly Promise<unknown>[] | []>(work: Work) => {
  await Promise.allSettled(work);
  return Promise.all(work);
};

/** What became of the open adjustments of one round. */
export interface DeliveryRound {
  /** How many were acknowledged. */
  readonly count: number;
  /**
   * Listings with an adjustment that the store does not take, and why: `bot 77 (damaged)`. Those of all
   * rounds since the one that began with the oldest, `limits.adjustmentsPerRound` at most.
   */
  readonly stuck: readonly string[];
  /** The next round begins behind this id of the ledger; 0 means with the oldest. */
  readonly nextAfterId: number;
}
export const emptyRound: DeliveryRound = { count: 0, stuck: [], nextAfterId: 0 };

/**
 * Delivers up to `limits.adjustmentsPerRound` open adjustments from where the last round ended. So those that
 * the store does not take, or whose delivery fails, which stay open, keep no others waiting.
 */
export const deliverAdjustments = async (
  parts: DeliveryParts,
  { nextAfterId: afterId, stuck }: DeliveryRound = emptyRound,
): Promise<DeliveryRound> => {
  const open = await parts.ledger.listAdjustments(limits.adjustmentsPerRound, { afterId });
  const delivered = await deliverInOrder(parts, open, isStoreSilent);
  const isLast = open.length < limits.adjustmentsPerRound;
  const allStuck = new Set([...(afterId === 0 ? [] : stuck), ...delivered.stuck]);
  return {
    ...delivered,
    stuck: [...allStuck].slice(0, limits.adjustmentsPerRound),
    nextAfterId: isLast ? 0 : (open.at(-1)?.id ?? 0),
  };
};

/**
 * Delivers all open adjustments of a listing, each once: an acknowledged one stays open until the flushed
 * totals contain it. Rejects with the first failure.
 */
export const deliverAdjustmentsOf = async (parts: DeliveryParts, target: Target): Promise<void> => {
  let afterId = 0;
  let open: readonly Adjustment[];
  do {
    open = await parts.ledger.listAdjustments(limits.adjustmentsPerRound, { ...target, afterId });
    await deliverInOrder(parts, open, () => true);
    afterId = open.at(-1)?.id ?? afterId;
  } while (open.length === limits.adjustmentsPerRound);
};

/**
 * Delivers adjustments, of each listing up to the first that the store does not take, or whose delivery
 * fails. Rejects with the first failure for which `isEnd` is true; what was acknowledged before is marked.
 */
const deliverInOrder = async (
  parts: DeliveryParts,
  open: readonly Adjustment[],
  isEnd: (failure: unknown) => boolean,
) => {
  const stuck = new Map<number, string>();
  const delivered: number[] = [];
  const deliver = async ({ id, item }: Adjustment): Promise<void> => {
    const { target } = item;
    const decision = await parts.send(item).catch((failure: unknown) => {
      if (isEnd(failure)) throw failure;
      return { kind: describeCause(failure) };
    });
    if (isDelivered(decision)) delivered.push(id);
    else stuck.set(target.incarnation, `${target.kind} ${target.id} (${decision.kind})`);
  };
  try {
    for (const adjustment of open) {
      if (!stuck.has(adjustment.item.target.incarnation)) await deliver(adjustment);
    }
  } finally {
    if (delivered.length > 0) await parts.ledger.markAdjustmentsDelivered(delivered);
  }
  return { count: delivered.length, stuck: [...stuck.values()] };
};

/**
 * Whether no other listing would fare better: a store does not answer, or this process ends. A `DomainError`
 * means that the hot store decided nothing in time.
 */
const isStoreSilent = (failure: unknown): boolean =>
  failure instanceof DomainError || silentReasons.includes(toReason(failure));
const silentReasons: readonly StorageReason[] = ['unreachable', 'closed'];

const describeCause = (failure: unknown): string => {
  const reason = toReason(failure);
  return reason === 'bug' ? toMessage(failure) : reason;
};

/** Creates the item that sends the facts of a ledger row to the store. */
export const toFactsItem = ({ ref, facts }: LedgerEntity, nowMs: number): FactsItem => ({
  kind: 'facts',
  target: ref,
  facts,
  atMs: nowMs,
});

/**
 * Delivers edited facts of up to `limits.editsPerRound` listings. Usually the node that made the edit has
 * sent them already; then nothing changes, because facts carry their revision.
 */
export const deliverEdits = async ({ ledger, send }: DeliveryParts, nowMs: number): Promise<void> => {
  const edits = await ledger.listEdits(limits.editsPerRound);
  if (edits.length === 0) return;
  const rows = await ledger.find(edits.map(({ target }) => target));
  const sendFacts = async (row: LedgerEntity | null): Promise<void> => {
    if (row !== null) await send(toFactsItem(row, nowMs));
  };
  await awaitAll(rows.map(sendFacts));
  await ledger.markEditsSent(edits);
};

/** Whether the store has the adjustment or never needs it (the incarnation is deleted). */
const isDelivered = ({ kind }: { readonly kind: string }): boolean =>
  kind === 'applied' || kind === 'forgotten';
