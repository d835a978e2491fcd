/**
 * What operators decide about a listing, the first steps of creating one of any kind (its incarnation, its
 * totals row, the owner's cap), and its deletion.
 *
 * The totals row is created in the same transaction as the catalogue row; the flusher updates it later.
 */

import { computeShard, type Target, toAddress } from '../../../engine/ids.ts';
import { deleteListing } from '../../ledger/adjust.ts';
import type { Transaction } from '../../sql/client.ts';
import { readValue } from '../../sql/rows.ts';
import { insertMissingPerson } from './people.ts';

/** The column of the ids in a kind's table. */
export const listingKeys = { bot: 'bot_id', server: 'server_id', team: 'id', pack: 'url' } as const;

export type ListingType = 'pending' | 'approved' | 'certified' | 'denied';

/** What an operator decided about a listing, with their words. */
export interface Review {
  readonly type: ListingType;
  readonly note: string;
}

/**
 * Creates the totals row. Resolves to the new listing's incarnation, or `null` when a listing of this kind
 * and id exists. Waits for a concurrent transaction that creates or deletes the same one.
 */
export const openListing = (transaction: Transaction, target: Target): Promise<number | null> => {
  const shard = computeShard(toAddress(target.kind, target.id));
  return readValue<number>(transaction`
    insert into totals (incarnation, kind, entity_id, shard)
    values (nextval('incarnations'), ${target.kind}, ${target.id}, ${shard}::int)
    on conflict (kind, entity_id) do nothing returning incarnation`);
};

/** Ends all sessions of this entity. */
export const endSessionsOf = (transaction: Transaction, target: Target): Promise<unknown> =>
  transaction`delete from sessions where target_type = ${target.kind} and target_id = ${target.id}`;

/**
 * Deletes a listing that the caller has locked, so that no session is created meanwhile: with its sessions,
 * its totals and the rows that refer to them, and its vanity code. Its votes become void.
 */
export const removeListing = async (transaction: Transaction, target: Target): Promise<void> => {
  await endSessionsOf(transaction, target);
  await deleteListing(transaction, target);
  await transaction`delete from vanity where target_type = ${target.kind} and target_id = ${target.id}`;
};

/**
 * Locks one kind of thing that a user owns until the transaction ends, so that a cap on their number is
 * exact. Also makes sure that the user has a row in `users`.
 */
export const lockOwner = async (transaction: Transaction, ownedKind: string, userId: string) => {
  await insertMissingPerson(transaction, userId);
  await transaction`select pg_advisory_xact_lock(hashtextextended(${`${ownedKind} ${userId}`}, 0))`;
};
