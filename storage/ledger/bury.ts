/**
 * Dead letters: rows that SQL refuses as they are, kept with the reason for an operator to look at.
 *
 * A row lies here because something in it cannot be stored, so it is kept as JSON cleaned of what JSON
 * columns refuse (NUL, lone surrogates). Called by storage/ledger.ts.
 */
import type { DirtyEntity, OutboxVote } from '../../engine/ports.ts';
import type { Queryable } from '../sql/client.ts';

const reasonCharactersMax = 2_000;

const clean = (text: string): string => text.toWellFormed().replaceAll('\0', '\ufffd');

const bodyOf = (row: DirtyEntity | OutboxVote): string =>
  JSON.stringify(row, (_key, value: unknown) => (typeof value === 'string' ? clean(value) : value));

export const buryRow = async (
  sql: Queryable,
  row: { readonly entity?: DirtyEntity; readonly vote?: OutboxVote; readonly reason: string },
): Promise<void> => {
  const body = row.entity ?? row.vote;
  if (!body) return;
  const source = row.entity ? 'entity' : 'vote';
  await sql`
    insert into dead_letters (source, body, reason)
    values (${source}, ${bodyOf(body)}::text::jsonb, ${clean(row.reason).slice(0, reasonCharactersMax)})`;
};
