/**
 * Delivers the ledger's decisions about past votes (void, redeem, reset, delete) to the hot store, and edits
 * of facts whose node died before it delivered them.
 *
 * Adjustments are delivered in ledger order until the store acknowledges them; each is idempotent by its
 * dense sequence number, so repeating a delivery after a crash changes nothing (I6, I12).
 */

import type { Decision, FactsItem, Item } from '../entity/items.ts';
import type { Target } from '../ids.ts';
import { limits } from '../limits.ts';
import type { Adjustment, AdjustmentLedger, EditLedger, LedgerEntity, LedgerReader } from '../ports.ts';

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

/** Delivers up to `limits.adjustmentsPerRound` open adjustments. Resolves to how many were acknowledged. */
export const deliverAdjustments = async (parts: DeliveryParts): Promise<number> =>
  deliverInOrder(parts, await parts.ledger.listAdjustments(limits.adjustmentsPerRound));

/**
 * Delivers all open adjustments of a listing, each once: an acknowledged one stays open until the flushed
 * totals contain it.
 */
export const deliverAdjustmentsOf = async (parts: DeliveryParts, target: Target): Promise<void> => {
  let afterId = 0;
  let open: readonly Adjustment[];
  do {
    open = await parts.ledger.listAdjustments(limits.adjustmentsPerRound, { ...target, afterId });
    await deliverInOrder(parts, open);
    afterId = open.at(-1)?.id ?? afterId;
  } while (open.length === limits.adjustmentsPerRound);
};

/** Delivers adjustments, of each listing up to the first that the store does not take. */
const deliverInOrder = async (parts: DeliveryParts, open: readonly Adjustment[]): Promise<number> => {
  const stuck = new Set<number>();
  const delivered: number[] = [];
  for (const adjustment of open) {
    const incarnation = adjustment.item.target.incarnation;
    if (stuck.has(incarnation)) continue;
    if (await deliverAdjustment(parts, adjustment)) delivered.push(adjustment.id);
    else stuck.add(incarnation);
  }
  if (delivered.length > 0) await parts.ledger.markAdjustmentsDelivered(delivered);
  return delivered.length;
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

/** Resolves to whether the store has the adjustment or never needs it (the incarnation is deleted). */
const deliverAdjustment = async (parts: DeliveryParts, adjustment: Adjustment): Promise<boolean> => {
  const decision = await parts.send(adjustment.item);
  return decision.kind === 'applied' || decision.kind === 'forgotten';
};
