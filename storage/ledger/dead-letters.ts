/**
 * Dead letters: entities and votes that SQL refuses, stored with the reason for an operator to inspect.
 *
 * A dead letter holds the refused row as JSON, without the characters that JSON columns refuse (NUL, lone
 * surrogates). A listing that keeps changing is refused at each flush, so it has a single letter with its
 * newest content, the first and the newest time, and the number of refusals. The table is therefore bounded
 * by the number of listings and votes. Called by ledger.ts.
 */
import type { DirtyEntity, OutboxVote } from '../../engine/ports.ts';
import type { Queryable } from '../sql/client.ts';

const reasonCharactersMax = 2_000;
/** The refused part may be the name itself, and an index accepts no long values. */
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

/** The key of a letter: a listing's incarnation (a reused id has another one), or one vote. */
const formatSubject = ({ entity, vote }: RefusedRow): string => {
  const subject = entity ? `entity ${entity.ref.incarnation}` : `vote ${vote?.itag}`;
  return replaceInvalidCharacters(subject).slice(0, subjectCharactersMax);
};

/** Writes or updates the dead letter of an entity or a vote. *Ledger* when it resolves. */
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
