/**
 * Dead letters: entities and votes that SQL refuses, stored with the reason for an operator to inspect.
 *
 * A dead letter holds the refused row as JSON, without the characters that JSON columns refuse (NUL, lone
 * surrogates). A listing that keeps changing is refused at each flush, so it has a single letter with its
 * newest content, the first and the newest time, and the number of refusals. The table is therefore bounded
 * by the number of listings and votes.
 */
import { createHash } from 'node:crypto';
import { changeOutcome, StorageError } from '../../engine/errors.ts';
import type { DirtyEntity, FlushSink, OutboxVote } from '../../engine/ports.ts';
import type { Queryable } from '../sql/client.ts';
import { toStorageError } from '../sql/errors.ts';
import { readNumber } from '../sql/rows.ts';

const reasonCharactersMax = 2_000;
/** The refused part may be the name, and an index takes no long values: such a name ends in its hash. */
const subjectCharactersMax = 200;

const replaceInvalidCharacters = (text: string): string => text.toWellFormed().replaceAll('\0', '\ufffd');

const formatBody = (row: DirtyEntity | OutboxVote): string =>
  JSON.stringify(row, (_key, value: unknown) =>
    typeof value === 'string' ? replaceInvalidCharacters(value) : value,
  );

type RefusedRow = Parameters<FlushSink['writeDeadLetter']>[0];

/** Formats the key of a letter: a listing's incarnation (a reused id has another one), or one vote. */
const formatSubject = ({ entity, vote }: RefusedRow): string => {
  const subject = entity ? `entity ${entity.ref.incarnation}` : `vote ${vote?.itag}`;
  const whole = replaceInvalidCharacters(subject);
  if (whole.length <= subjectCharactersMax) return whole;
  const digest = createHash('sha256').update(whole).digest('hex');
  return whole.slice(0, subjectCharactersMax - digest.length) + digest;
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

/** What became of the letters that were tried again. */
export interface RetriedLetters {
  readonly stored: number;
  /** Letters that SQL refused again, or whose row is not complete and unchanged in the letter. */
  readonly refused: number;
  /** Letters beyond the number that one call tries. */
  readonly left: number;
}

/** Bounds one call: each letter is a transaction of its own, and an operator waits for the reply. */
const retriedLettersMax = 200;

/**
 * Flushes the rows of the letters again, the longest untried first, and deletes the letters of those that SQL
 * takes. Flushes are guarded, so a state that is older than what SQL has changes nothing. Rejects when SQL
 * fails otherwise; what was stored until then stays.
 */
export const retryDeadLetters = async (sql: Queryable, ledger: FlushSink): Promise<RetriedLetters> => {
  const letters = await sql<(LetterRow & { total: number })[]>`
    select id, refusals, source, body, count(*) over ()::int as total from dead_letters
    order by newest_at, id limit ${retriedLettersMax}`;
  let stored = 0;
  try {
    for (const letter of letters) if (await retryLetter(sql, ledger, letter)) stored++;
  } catch (error) {
    // A letter is a flush and a statement, and earlier letters are done.
    throw changeOutcome(toStorageError('failures.retryDeadLetters', error), 'unknown');
  }
  const total = letters[0]?.total ?? 0;
  return { stored, refused: letters.length - stored, left: total - letters.length };
};

/** Counts them, up to a thousand. */
export const countDeadLetters = (sql: Queryable): Promise<number> =>
  readNumber(sql`select count(*) from (select from dead_letters limit 1000) as letters`);

interface LetterRow {
  readonly id: number;
  readonly refusals: number;
  readonly source: string;
  readonly body: object;
}

/**
 * Whether the letter has the whole row in its present form. A row with a replaced character is not whole:
 * SQL would store something that no client sent.
 */
const isWhole = ({ source, body }: LetterRow): boolean =>
  (source === 'entity' ? 'state' in body : source === 'vote' && 'itag' in body) &&
  !JSON.stringify(body).includes('\ufffd');

const retryLetter = async (sql: Queryable, ledger: FlushSink, letter: LetterRow): Promise<boolean> => {
  const { id, refusals, source, body } = letter;
  const isEntity = source === 'entity';
  const round = {
    entities: isEntity ? [body as DirtyEntity] : [],
    votes: isEntity ? [] : [body as OutboxVote],
  };
  const fault = isWhole(letter) ? await findFault(ledger, round) : 'the row is not in this letter as it was';
  // If the row was refused again meanwhile, the letter has newer content and stays.
  if (fault === null) await sql`delete from dead_letters where id = ${id} and refusals = ${refusals}`;
  else
    await sql`
      update dead_letters set refusals = refusals + 1, newest_at = now(),
        reason = ${replaceInvalidCharacters(fault).slice(0, reasonCharactersMax)} where id = ${id}`;
  return fault === null;
};

/** Returns why SQL refuses the row; `null` if SQL has stored it or already has something newer. */
const findFault = async (ledger: FlushSink, round: Parameters<FlushSink['flush']>[0]) => {
  try {
    await ledger.flush(round);
    return null;
  } catch (error) {
    if (!(error instanceof StorageError)) throw error;
    // A newer generation has written all totals of the shard.
    if (error.reason === 'outdated') return null;
    if (error.reason === 'row') return error.message;
    throw error;
  }
};
