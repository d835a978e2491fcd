/**
 * Brings the ledger's decisions about past votes (void, redeem, reset, delete) to the hot store, and edits of
 * facts whose node died before it told them.
 *
 * Adjustments are delivered in ledger order until the store has heard; each is idempotent by its dense
 * sequence number, so repeating a delivery after a crash changes nothing (I6, I12). Called by the flusher
 * after each round, and by `engine.deliver` at once.
 */

import type { Decision, FactsItem, Item } from '../entity/items.ts';
import type { EntityRef } from '../ids.ts';
import { limits } from '../limits.ts';
import type { Adjustment, AdjustmentLedger, EditLedger, LedgerEntity, LedgerReader } from '../ports.ts';

export interface DeliveryParts {
  readonly ledger: Pick<LedgerReader, 'find'> & EditLedger & AdjustmentLedger;
  /** Sends one item, activating its entity first when the store does not know it. */
  readonly send: (item: Item) => Promise<Decision>;
}

/** Delivers up to `limits.adjustmentsPerRound` open adjustments. Resolves to how many were settled. */
export const deliverAdjustments = async (parts: DeliveryParts, target?: EntityRef): Promise<number> => {
  const open = await parts.ledger.listAdjustments(limits.adjustmentsPerRound, target);
  if (open.length === 0) return 0;
  const stuck = new Set<number>();
  const settled: number[] = [];
  for (const adjustment of open) {
    const incarnation = adjustment.item.target.incarnation;
    if (stuck.has(incarnation)) continue;
    if (await deliverAdjustment(parts, adjustment)) settled.push(adjustment.id);
    else stuck.add(incarnation);
  }
  if (settled.length > 0) await parts.ledger.markAdjustmentsDelivered(settled);
  return settled.length;
};

/** What tells the store the facts of the ledger's row. */
export const toFactsItem = ({ ref, facts }: LedgerEntity, nowMs: number): FactsItem => ({
  kind: 'facts',
  target: ref,
  facts,
  atMs: nowMs,
});

/**
 * Tells facts that were edited, up to `limits.editsPerRound` listings. Who edited has told them already, as a
 * rule: then nothing changes, since facts carry their revision.
 */
export const deliverEdits = async ({ ledger, send }: DeliveryParts, nowMs: number): Promise<void> => {
  const edits = await ledger.listEdits(limits.editsPerRound);
  if (edits.length === 0) return;
  const rows = await ledger.find(edits.map(({ target }) => target));
  const tell = async (row: LedgerEntity | null): Promise<void> => {
    if (row !== null) await send(toFactsItem(row, nowMs));
  };
  await Promise.all(rows.map(tell));
  await ledger.markEditsSent(edits);
};

/** True when the store has it, or will never need it (the incarnation is dead). */
const deliverAdjustment = async (parts: DeliveryParts, adjustment: Adjustment): Promise<boolean> => {
  const decision = await parts.send(adjustment.item);
  return decision.kind === 'applied' || decision.kind === 'forgotten';
};
