/**
 * Sets the happened times of both stores that lie ahead of the clock to that clock: `--accept-clock`, after a
 * node ran with a clock that was years ahead.
 *
 * The time to which they are set is the same in both stores, and kept in SQL until the end, so an interrupted
 * run goes on where it was: the hot store record by record, then SQL in one transaction. The caller has
 * flushed the hot store, and nothing else uses the stores. What was cast before a reset stays void, so no
 * total changes.
 */
import { limits } from '../../engine/limits.ts';
import { recountLists } from '../catalogue/lists/list-segments.ts';
import type { HotRecord, HotTransfer } from '../move/records.ts';
import { endTimeLimits } from '../move/sql-copy.ts';
import { getOrCreateSetting } from '../nodes/membership.ts';
import type { Sql, Transaction } from '../sql/client.ts';
import { buildAhead, formatLimit } from './look-up.ts';
import { getUnit, hotTimes, type StoredTime, sqlTimes } from './times.ts';

export interface AcceptInput {
  readonly sql: Sql;
  readonly hot: { readonly transfer: HotTransfer };
  readonly nowMs: number;
  /** Receives a line for each place where times were rewritten. */
  readonly report: (line: string) => void;
}

const settingName = 'accept_clock';

export const setTimes = async ({ sql, hot, nowMs, report }: AcceptInput): Promise<void> => {
  const atMs = Number(await getOrCreateSetting(sql, settingName, () => String(nowMs)));
  report(`Times ahead of the clock are set to ${new Date(atMs).toISOString()}:`);
  await mendHot(hot.transfer, atMs, report);
  await sql.begin(async (transaction) => {
    await endTimeLimits(transaction);
    await mendSql(transaction, atMs, report);
    await transaction`delete from settings where name = ${settingName}`;
  });
  await recountLists(sql);
};

/* -------------------------------------------------------------- hot store */

const recordNames = { state: 'last posts and uptime', votes: 'last votes', part: 'shards of bots' } as const;

const mendHot = async (transfer: HotTransfer, atMs: number, report: AcceptInput['report']): Promise<void> => {
  const counts = { state: 0, votes: 0, part: 0 };
  for await (const records of transfer.readRecords(() => {})) {
    const mended = records.flatMap((record) => setRecordTimes(record, atMs) ?? []);
    for (const { kind } of mended) if (kind !== 'visitors') counts[kind] += 1;
    await transfer.writeRecords(mended);
  }
  await transfer.removeAhead(atMs);
  for (const [kind, name] of Object.entries(recordNames))
    report(`  hot store, ${name}: ${counts[kind as keyof typeof counts]} records`);
};

/** Returns the record with no happened time after `atMs`; `null` if it has none. */
export const setRecordTimes = (record: HotRecord, atMs: number): HotRecord | null => {
  if (record.kind === 'visitors') return null;
  let isMended = false;
  const mend = (value: unknown, path: string): unknown => {
    if (Array.isArray(value)) return value.map((one) => mend(one, path));
    if (typeof value === 'object' && value !== null) {
      const start = path === '' ? '' : `${path}.`;
      return Object.fromEntries(
        Object.entries(value).map(([name, one]) => [name, mend(one, `${start}${name}`)]),
      );
    }
    const isAhead = typeof value === 'number' && value > atMs && value !== limits.counterMax;
    if (!isAhead || hotTimes[path]?.mend !== 'set') return value;
    isMended = true;
    return atMs;
  };
  const mended = mend(record, '') as HotRecord;
  if (!isMended) return null;
  if (mended.kind !== 'votes') return mended;
  // Votes that have one time now are one; the last of them decides.
  const votes = [...new Map(mended.votes.map((vote) => [vote.atMs, vote])).values()];
  return { ...mended, votes };
};

/* -------------------------------------------------------------------- SQL */

/** What the table of times cannot say; all of it comes before that. */
const mendSpecial = async (transaction: Transaction, atMs: number): Promise<void> => {
  const at = new Date(atMs);
  // Votes and the reset that made them void are about to get the same time.
  await transaction`
    update votes set void = true, void_reason = rows.void_reason, voided_at = rows.voided_at
    from vote_rows as rows
    where votes.created_at > ${at} and not votes.void and rows.itag = votes.itag
      and rows.created_at = votes.created_at and rows.void and rows.void_reason <> 'deleted'`;
  await transaction`
    delete from vote_resets as reset using vote_resets as later
    where reset.at > ${at} and later.scope = reset.scope and later.at > reset.at
      and later.at < 'infinity'`;
  await transaction`
    update sessions set expiry = ${at}::timestamptz + (expiry - created_at) where created_at > ${at}`;
  for (const list of ['release', 'pinned'])
    await transaction`
      update adjustments set payload = jsonb_set(payload, array[${list}], (
        select coalesce(jsonb_agg(vote || jsonb_build_object(
          'atMs', least((vote ->> 'atMs')::bigint, ${atMs}::bigint))), '[]')
        from jsonb_array_elements(payload -> ${list}) as vote))
      where settled_at is null and jsonb_typeof(payload -> ${list}) = 'array'`;
  await transaction`
    update adjustments set payload = payload || jsonb_build_object(
      'releaseBeforeMs', least((payload ->> 'releaseBeforeMs')::bigint, ${atMs}::bigint))
    where settled_at is null and payload ? 'releaseBeforeMs'`;
};

/** By the table of times. Rows are removed first: those that are left may be in their way. */
const mendSql = async (
  transaction: Transaction,
  atMs: number,
  report: AcceptInput['report'],
): Promise<void> => {
  await mendSpecial(transaction, atMs);
  for (const [table, columns] of Object.entries(sqlTimes)) {
    const list = (how: StoredTime['mend']): string[] =>
      Object.keys(columns).filter((column) => columns[column]?.mend === how);
    const isAhead = (some: readonly string[]): string =>
      some.map((column) => buildAhead(table, column, atMs)).join(' or ');
    const run = async (some: readonly string[], done: string, statement: () => string): Promise<void> => {
      if (some.length === 0) return;
      const { count } = await transaction.unsafe(statement());
      if (count > 0) report(`  ${table} (${some.join(', ')}): ${count} rows ${done}`);
    };
    const [removed, emptied, set] = [list('removed'), list('emptied'), list('set')];
    await run(removed, 'removed', () => `delete from ${table} where ${isAhead(removed)}`);
    await run(emptied, 'removed, computed again', () => `delete from ${table}`);
    const assign = (column: string): string => {
      const limit = formatLimit(getUnit(table, column), atMs);
      return `${column} = case when ${buildAhead(table, column, atMs)} then ${limit} else ${column} end`;
    };
    await run(set, 'set', () => `update ${table} set ${set.map(assign).join()} where ${isAhead(set)}`);
  }
};
