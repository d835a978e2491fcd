/**
 * What making a listing of any kind begins with: its incarnation and its totals row.
 *
 * The totals row is born with the catalogue row, in one transaction, and is what the flusher updates. Called
 * by the edits of listings; deleting is storage/ledger/adjust.ts' `deleteListing`.
 */
import { computeShard, type EntityKind, toAddress } from '../../../engine/ids.ts';
import type { Transaction } from '../../sql/client.ts';
import { insertMissingPerson } from './people.ts';

/** The new listing's incarnation; `null` when one of this kind and id lives. Waits for a rival to decide. */
export const openListing = async (
  transaction: Transaction,
  target: { readonly kind: EntityKind; readonly id: string },
): Promise<number | null> => {
  const shard = computeShard(toAddress(target.kind, target.id));
  const rows = await transaction<{ incarnation: number }[]>`
    insert into totals (incarnation, kind, entity_id, shard)
    values (nextval('incarnations'), ${target.kind}, ${target.id}, ${shard})
    on conflict (kind, entity_id) do nothing returning incarnation`;
  return rows[0]?.incarnation ?? null;
};

/**
 * Holds back others who make something of this kind for the same user, so that a cap is exact. Also makes
 * sure that the user has a row to refer to.
 */
export const lockOwner = async (transaction: Transaction, what: string, userId: string): Promise<void> => {
  await insertMissingPerson(transaction, userId);
  await transaction`select pg_advisory_xact_lock(hashtextextended(${`${what} ${userId}`}, 0))`;
};
