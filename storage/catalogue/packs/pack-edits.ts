/**
 * Creates, edits and deletes packs. Each edit is one transaction.
 *
 * The key of a pack is its url in lower case. Two concurrent creations of one url make one pack, because its
 * totals row is unique. A pack may keep ids of bots and servers that were deleted, but accepts no new unknown
 * ids. The caller updates the hot store after a deletion.
 */
import { deleteListing } from '../../ledger/adjust.ts';
import { bindTransactions, type Sql, type Transaction } from '../../sql/client.ts';
import { lockOwner, openListing } from '../shared/listings.ts';
import type { PackRow } from './packs.ts';

export interface PackFields {
  readonly name: string;
  readonly short: string;
  readonly tags: readonly string[];
  readonly bots: readonly string[];
  readonly servers: readonly string[];
}
/** `null` leaves a field as it is. */
export type PackChange = { readonly [Field in keyof PackFields]: PackFields[Field] | null };
/** A pack, and the user who acts. */
export interface PackRequest {
  readonly url: string;
  readonly userId: string;
}
/** An edit says what the pack has after it. */
export type PackOutcome =
  | { readonly kind: 'done'; readonly listing?: Readonly<Record<string, unknown>> }
  | { readonly kind: 'taken' | 'limit_reached' | 'not_found' | 'not_owner' | 'would_be_empty' }
  | { readonly kind: 'unknown'; readonly bots: readonly string[]; readonly servers: readonly string[] };

/** Every change is ledger when it resolves. */
export const createPackEdits = (sql: Sql) =>
  bindTransactions('packs', sql, { create: createPack, edit: editPack, remove: removePack });

const findUnknown = async (
  transaction: Transaction,
  members: Pick<PackFields, 'bots' | 'servers'>,
): Promise<PackOutcome | null> => {
  const rows = await transaction<{ bot: boolean; id: string }[]>`
    select true as bot, id from unnest((select ${members.bots as string[]}::text[])) as id
    where not exists (select from bots where bot_id = id)
    union all
    select false, id from unnest((select ${members.servers as string[]}::text[])) as id
    where not exists (select from servers where server_id = id)`;
  if (rows.length === 0) return null;
  const listIds = (bot: boolean) => rows.filter((row) => row.bot === bot).map(({ id }) => id);
  return { kind: 'unknown', bots: listIds(true), servers: listIds(false) };
};

/** Creates a pack; the user must own fewer than `ownedMax` packs. */
const createPack = async (
  transaction: Transaction,
  { url, userId, ownedMax }: PackRequest & { readonly ownedMax: number },
  fields: PackFields,
): Promise<PackOutcome> => {
  const unknown = await findUnknown(transaction, fields);
  if (unknown !== null) return unknown;
  await lockOwner(transaction, 'packs', userId);
  const incarnation = await openListing(transaction, { kind: 'pack', id: url });
  if (incarnation === null) return { kind: 'taken' };
  const inserted = await transaction`
    insert into packs (url, incarnation, owner_id, name, short, tags, bot_ids, server_ids)
    select ${url}, ${incarnation}, ${userId}, ${fields.name}, ${fields.short},
      ${fields.tags as string[]}::text[], ${fields.bots as string[]}::text[],
      ${fields.servers as string[]}::text[]
    where (select count(*) from packs where owner_id = ${userId}) < ${ownedMax}
    returning url`;
  if (inserted.length === 1) return { kind: 'done' };
  await transaction`delete from totals where incarnation = ${incarnation}`;
  return { kind: 'limit_reached' };
};

type LockedPack = Pick<PackRow, 'owner_id' | 'bot_ids' | 'server_ids'>;

/** Locks the pack; resolves to it, or to the reason why this user cannot edit it. */
const lockOwnPack = async (
  transaction: Transaction,
  { url, userId }: PackRequest,
): Promise<LockedPack | PackOutcome> => {
  const [pack] = await transaction<LockedPack[]>`
    select owner_id, bot_ids, server_ids from packs where url = ${url} for update`;
  if (pack === undefined) return { kind: 'not_found' };
  return pack.owner_id === userId ? pack : { kind: 'not_owner' };
};

const listNewIds = (ids: readonly string[] | null, existing: readonly string[]): readonly string[] =>
  (ids ?? []).filter((id) => !existing.includes(id));

const editPack = async (
  transaction: Transaction,
  request: PackRequest,
  change: PackChange,
): Promise<PackOutcome> => {
  const pack = await lockOwnPack(transaction, request);
  if ('kind' in pack) return pack;
  const bots = change.bots ?? pack.bot_ids;
  const servers = change.servers ?? pack.server_ids;
  const isChanged = change.bots !== null || change.servers !== null;
  if (isChanged && bots.length + servers.length === 0) return { kind: 'would_be_empty' };
  const unknown = await findUnknown(transaction, {
    bots: listNewIds(change.bots, pack.bot_ids),
    servers: listNewIds(change.servers, pack.server_ids),
  });
  if (unknown !== null) return unknown;
  const [listing = {}] = await transaction`
    update packs set name = coalesce(${change.name}, name), short = coalesce(${change.short}, short),
      tags = coalesce(${change.tags as string[] | null}::text[], tags),
      bot_ids = ${bots as string[]}::text[], server_ids = ${servers as string[]}::text[]
    where url = ${request.url} returning name, short, tags`;
  return { kind: 'done', listing };
};

/** Deletes the pack; its votes become void. The url may be used again for another pack. */
const removePack = async (transaction: Transaction, request: PackRequest): Promise<PackOutcome> => {
  const pack = await lockOwnPack(transaction, request);
  if ('kind' in pack) return pack;
  await deleteListing(transaction, { kind: 'pack', id: request.url });
  return { kind: 'done' };
};
