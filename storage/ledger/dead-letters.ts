/**
 * Dead letters: rows that SQL refuses as they are, kept with the reason for an operator to look at.
 *
 * A row lies here because something in it cannot be stored, so it is kept as JSON cleaned of what JSON
 * columns refuse (NUL, lone surrogates). A listing that goes on changing is refused at each flush, so it has
 * one letter: the newest content, the first and the newest time, and how often. So the table is bounded by
 * the listings and votes there are. Called by storage/ledger/ledger.ts.
 */
import type { DirtyEntity, OutboxVote } from '../../engine/ports.ts';
import type { Queryable } from '../sql/client.ts';

const reasonCharactersMax = 2_000;
/** What goes wrong may be the very name, and an index takes no long one. */
const subjectCharactersMax = 200;

const replaceInvalidCharacters = (text: string): string => text.toWellFormed().replaceAll('\0', '\ufffd');

const formatBody = (row: DirtyEntity | OutboxVote): string =>
  JSON.stringify(row, (_key, value: unknown) =>
    typeof value === 'string' ? replaceInvalidCharacters(value) : value,
  );

interface RefusedRow {
  readonly entity?: DirtyEntity;
  readonly vote?: OutboxVote;
  readonly reason: string;
}

/** Whose letter it is: a listing's incarnation (its id used again is another one), or one vote. */
const formatSubject = ({ entity, vote }: RefusedRow): string => {
  const words = entity ? `entity ${entity.ref.incarnation}` : `vote ${vote?.itag}`;
  return replaceInvalidCharacters(words).slice(0, subjectCharactersMax);
};

export const insertDeadLetter = async (sql: Queryable, row: RefusedRow): Promise<void> => {
  const body = row.entity ?? row.vote;
  if (!body) return;
  const source = row.entity ? 'entity' : 'vote';
  const reason = replaceInvalidCharacters(row.reason).slice(0, reasonCharactersMax);
  await sql`
    insert into dead_letters (subject, source, body, reason)
    values (${formatSubject(row)}, ${source}, ${formatBody(body)}::text::jsonb, ${reason})
    on conflict (subject) do update set body = excluded.body, reason = excluded.reason,
      refusals = dead_letters.refusals + 1, newest_at = now()`;
};
