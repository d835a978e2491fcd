/**
 * Adjustments: the ledger's decisions about past votes, on their way to the hot store.
 *
 * Owns the `adjustments` table. Sequence numbers are dense per listing, because they are taken under the lock
 * of its totals row. A decision counts as told only when the totals that SQL holds contain it: a hot store
 * that was emptied before that is told again. Called by storage/ledger/ledger.ts, flush.ts and adjust.ts.
 */

import type { AdjustItem, CastVote } from '../../engine/entity/items.ts';
import { createEntityRef, type EntityKind, type EntityRef } from '../../engine/ids.ts';
import { limits } from '../../engine/limits.ts';
import type { Adjustment } from '../../engine/ports.ts';
import type { Queryable, Transaction } from '../sql/client.ts';
import { markDueByReleases } from './due-reminders.ts';

/** What an adjustment changes; see `AdjustItem`. Kept as JSON in the row. */
export type AdjustmentChange = Partial<
  Pick<AdjustItem, 'upvotes' | 'downvotes' | 'releaseBeforeMs' | 'release' | 'hold'>
>;

interface AdjustmentRow {
  readonly id: number;
  readonly incarnation: number;
  readonly kind: EntityKind;
  readonly entity_id: string;
  readonly action: 'adjust' | 'forget';
  readonly sequence: number;
  readonly payload: AdjustmentChange;
}

const toAdjustment = (row: AdjustmentRow): Adjustment => {
  const target = createEntityRef(row.kind, row.entity_id, row.incarnation);
  if (row.action === 'forget') return { id: row.id, item: { kind: 'forget', target } };
  const { upvotes = 0, downvotes = 0, releaseBeforeMs = 0, release = [], hold = [] } = row.payload;
  const change = { upvotes, downvotes, releaseBeforeMs, release, hold };
  return { id: row.id, item: { kind: 'adjust', target, sequence: row.sequence, ...change } };
};

/** Open adjustments, oldest first; of one listing when `target` is given. */
export const selectOpenAdjustments = async (
  sql: Queryable,
  limit: number,
  target?: EntityRef,
): Promise<readonly Adjustment[]> => {
  const rows = await sql<AdjustmentRow[]>`
    select id, incarnation, kind, entity_id, action, sequence, payload from adjustments
    where settled_at is null ${target ? sql`and incarnation = ${target.incarnation}` : sql``}
    order by id limit ${limit}`;
  return rows.map(toAdjustment);
};

/** Closes those that the flushed totals contain, or that nobody needs any more. */
export const markAdjustmentsDelivered = async (sql: Queryable, ids: readonly number[]): Promise<void> => {
  if (ids.length === 0) return;
  await markDueByReleases(sql, ids);
  await sql`
    update adjustments set settled_at = now()
    where id = any(${[...ids]}::bigint[]) and settled_at is null
      and (action = 'forget' or not exists (
        select from totals
        where totals.incarnation = adjustments.incarnation and totals.adjustment < adjustments.sequence))`;
};

/**
 * Cuts marks into rows of at most `marksMax`. Holds come first and the counts last, together with
 * `releaseBeforeMs`: nobody is free for a moment who must not be.
 */
export const cutChange = (change: AdjustmentChange, marksMax: number): readonly AdjustmentChange[] => {
  const { hold = [], release = [], ...counts } = change;
  const marks = [
    ...hold.map((castVote) => ({ mark: castVote, held: true })),
    ...release.map((castVote) => ({ mark: castVote, held: false })),
  ];
  const rows: AdjustmentChange[] = [];
  for (let from = 0; from === 0 || from < marks.length; from += marksMax) {
    const part = marks.slice(from, from + marksMax);
    const pick = (held: boolean): CastVote[] =>
      part.filter((one) => one.held === held).map((one) => one.mark);
    rows.push({ hold: pick(true), release: pick(false) });
  }
  rows[rows.length - 1] = { ...rows[rows.length - 1], ...counts };
  return rows;
};

/** Locks the listing's totals row. `null` when the listing is gone. */
export const lockListing = async (
  transaction: Transaction,
  incarnation: number,
): Promise<EntityRef | null> => {
  const [row] = await transaction<{ kind: EntityKind; entity_id: string }[]>`
    select kind, entity_id from totals where incarnation = ${incarnation} for update`;
  return row ? createEntityRef(row.kind, row.entity_id, incarnation) : null;
};

/** Records a decision, in as many rows as its marks need. Does nothing for a listing that is gone. */
export const writeAdjustment = async (
  transaction: Transaction,
  incarnation: number,
  change: AdjustmentChange,
): Promise<void> => {
  const listing = await lockListing(transaction, incarnation);
  if (!listing) return;
  for (const row of cutChange(change, limits.adjustmentVotersMax)) {
    await transaction`
      insert into adjustments (incarnation, kind, entity_id, action, sequence, payload)
      select incarnation, kind, entity_id, 'adjust', 1 + greatest(adjustment, (
        select max(sequence) from adjustments
        where incarnation = ${incarnation} and action = 'adjust')), ${JSON.stringify(row)}::text::jsonb
      from totals where incarnation = ${incarnation}`;
  }
};

/** Tells the hot store to bury the listing. */
export const writeForget = async (transaction: Transaction, listing: EntityRef): Promise<void> => {
  await transaction`
    insert into adjustments (incarnation, kind, entity_id, action, sequence)
    values (${listing.incarnation}, ${listing.kind}, ${listing.id}, 'forget', 1)
    on conflict do nothing`;
};
