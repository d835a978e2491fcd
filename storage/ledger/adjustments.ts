/**
 * Adjustments: the ledger's changes to past votes, to be delivered to the hot store.
 *
 * Owns the `adjustments` table. Sequence numbers have no gaps per listing, because they are taken under the
 * lock of its totals row. An adjustment counts as delivered only after the flushed totals in SQL contain it:
 * a hot store that is emptied before that gets it again.
 */

import type { AdjustItem, CastVote } from '../../engine/entity/items.ts';
import {
  computeShard,
  createEntityRef,
  type EntityKind,
  type EntityRef,
  type Incarnation,
  type Target,
  toAddress,
} from '../../engine/ids.ts';
import { limits } from '../../engine/limits.ts';
import type { Adjustment, AdjustmentScope } from '../../engine/ports.ts';
import { buildRows, type Queryable, type Transaction } from '../sql/client.ts';
import { readValue } from '../sql/rows.ts';
import { markDueByReleases } from './due-reminders.ts';
import { lockTotals } from './totals.ts';

/** What an adjustment changes; see `AdjustItem`. */
export type AdjustmentChange = Partial<
  Pick<AdjustItem, 'upvotes' | 'downvotes' | 'releaseBeforeMs' | 'release' | 'pinned'>
>;
/** A change as JSON in its row. */
type StoredChange = Partial<AdjustmentChange>;

interface AdjustmentRow {
  readonly id: number;
  readonly incarnation: Incarnation;
  readonly kind: EntityKind;
  readonly entity_id: string;
  readonly action: 'adjust' | 'forget';
  readonly sequence: number;
  readonly payload: StoredChange;
}

const toAdjustment = (row: AdjustmentRow): Adjustment => {
  const { kind, entity_id: id, incarnation } = row;
  const shard = computeShard(toAddress(kind, id));
  const target = createEntityRef({ kind, id, incarnation, shard });
  if (row.action === 'forget') return { id: row.id, item: { kind: 'forget', target } };
  const { upvotes = 0, downvotes = 0, releaseBeforeMs = 0, release = [], pinned = [] } = row.payload;
  const change = { upvotes, downvotes, releaseBeforeMs, release, pinned };
  return { id: row.id, item: { kind: 'adjust', target, sequence: row.sequence, ...change } };
};

/** Reads open adjustments, oldest first. */
export const selectOpenAdjustments = async (
  sql: Queryable,
  limit: number,
  { kind, id, afterId = 0 }: AdjustmentScope = {},
): Promise<readonly Adjustment[]> => {
  const ofOne = kind !== undefined && id !== undefined && sql`and kind = ${kind} and entity_id = ${id}`;
  const rows = await sql<AdjustmentRow[]>`
    select id, incarnation, kind, entity_id, action, sequence, payload
    from adjustments
    where settled_at is null and id > ${afterId} ${ofOne || sql``}
    order by id limit ${limit}`;
  return rows.map(toAdjustment);
};

/**
 * Closes those of the adjustments that the flushed totals contain, and those of deleted listings. *Ledger*.
 */
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
 * Splits a change into rows of at most `castVotesMax` cast votes. Pinned votes come first, counts and
 * `releaseBeforeMs` last, so that no voter who must wait is released in between.
 */
export const splitChange = (change: AdjustmentChange, castVotesMax: number): readonly StoredChange[] => {
  const { pinned = [], release = [], ...counts } = change;
  const entries = [
    ...pinned.map((castVote) => ({ castVote, pinned: true })),
    ...release.map((castVote) => ({ castVote, pinned: false })),
  ];
  const rows: StoredChange[] = [];
  for (let from = 0; from === 0 || from < entries.length; from += castVotesMax) {
    const part = entries.slice(from, from + castVotesMax);
    const pick = (isPinned: boolean): CastVote[] =>
      part.filter((entry) => entry.pinned === isPinned).map(({ castVote }) => castVote);
    rows.push({ pinned: pick(true), release: pick(false) });
  }
  rows[rows.length - 1] = { ...rows[rows.length - 1], ...counts };
  return rows;
};

/** Finds the listing's incarnation; `null` when there is none. */
export const findIncarnation = (sql: Queryable, { kind, id }: Target): Promise<Incarnation | null> =>
  readValue<Incarnation>(sql`
    select incarnation from totals where kind = ${kind} and entity_id = ${id}`);

/** Locks the listing's totals row. `null` if the listing was deleted. */
export const lockListing = async (
  transaction: Transaction,
  incarnation: number,
): Promise<EntityRef | null> => {
  const [row] = await transaction<Omit<EntityRef, 'address'>[]>`
    select kind, entity_id as id, incarnation, shard from totals
    where incarnation = ${incarnation} for update`;
  return row ? createEntityRef(row) : null;
};

/** Adjustments written by one statement: each may list `limits.adjustmentVotersMax` votes. */
const rowsPerStatement = 100;

/**
 * Writes changes as adjustments, each as one or more by its number of cast votes. Locks the listings; does
 * nothing for deleted ones.
 */
export const writeAdjustments = async (
  transaction: Transaction,
  changes: readonly (AdjustmentChange & { readonly incarnation: number })[],
): Promise<void> => {
  await lockTotals(
    transaction,
    changes.map(({ incarnation }) => incarnation),
  );
  const rows = changes.flatMap(({ incarnation, ...change }) =>
    splitChange(change, limits.adjustmentVotersMax).map((row) => ({
      incarnation,
      payload: JSON.stringify(row),
    })),
  );
  for (let from = 0; from < rows.length; from += rowsPerStatement) {
    const step = rows.slice(from, from + rowsPerStatement);
    await transaction`
      insert into adjustments (incarnation, kind, entity_id, action, sequence, payload)
      select totals.incarnation, kind, entity_id, 'adjust',
        row_number() over (partition by totals.incarnation order by position) + greatest(adjustment, (
          select max(sequence) from adjustments
          where adjustments.incarnation = totals.incarnation and action = 'adjust')), payload::jsonb
      from ${buildRows(transaction, step, { incarnation: 'bigint', payload: 'text' })}
        with ordinality as change (incarnation, payload, position) join totals using (incarnation)
      order by position`;
  }
};

/** Writes the adjustment that makes the hot store put a tombstone for the listing. */
export const writeForget = (transaction: Transaction, listing: EntityRef): Promise<unknown> => transaction`
  insert into adjustments (incarnation, kind, entity_id, action, sequence)
  values (${listing.incarnation}, ${listing.kind}, ${listing.id}, 'forget', 1)
  on conflict do nothing`;
