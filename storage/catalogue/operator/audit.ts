/**
 * The audit trail of operators: an entry is written before each operation and completed after it.
 *
 * An entry whose outcome stays `asked` means that the process or SQL failed before the end was recorded; an
 * operator must check whether the operation took effect. Entries are never deleted here, and only their
 * outcome and end change.
 */

import type { Fragment, Queryable, Sql } from '../../sql/client.ts';
import { bindStorage } from '../../sql/errors.ts';
import { readValue } from '../../sql/rows.ts';
import { type ListPage, readPage } from './pages.ts';

export interface AuditRequest {
  /** The name of the operator. */
  readonly operator: string;
  /** As an operator types it, such as `bots approve`. */
  readonly operation: string;
  /** What it changes, for display, such as `bot 123`. */
  readonly target: string;
  readonly details: Readonly<Record<string, unknown>>;
}
export interface AuditEntry extends AuditRequest {
  readonly id: number;
  readonly asked_at: Date;
  /** `asked` until the operation ends, then `done` or the error code. */
  readonly outcome: string;
  readonly ended_at: Date | null;
}

/** Only entries that match all that is given. */
export interface AuditFilter {
  readonly operator?: string | undefined;
  /** A command, or the first word of some. */
  readonly operation?: string | undefined;
  /** A word of the target, in any letter case: an id, or the url of a pack as the operator typed it. */
  readonly target?: string | undefined;
}

const buildFilter = (sql: Sql, { operator, operation, target }: AuditFilter): Fragment | undefined => {
  const conditions = [
    ...(operator === undefined ? [] : [sql`operator = ${operator}`]),
    ...(operation === undefined ? [] : [sql`starts_with(operation || ' ', ${`${operation} `})`]),
    ...(target === undefined
      ? []
      : [sql`fold_case(${target}) = any(string_to_array(fold_case(target), ' '))`]),
  ];
  const [first, ...others] = conditions;
  if (first === undefined) return undefined;
  return others.reduce((all, one) => sql`${all} and ${one}`, sql`where ${first}`);
};

/** Writes the entry; ledger when it resolves. Resolves to its id. */
const begin = async (sql: Sql, { operator, operation, target, details }: AuditRequest): Promise<number> => {
  const id = await readValue<number>(sql`
    insert into audit (operator, operation, target, details)
    values (${operator}, ${operation}, ${target}, ${sql.json(details as Parameters<Sql['json']>[0])})
    returning id`);
  return id as number;
};

const end = (sql: Queryable, id: number, outcome: string): Promise<unknown> =>
  sql`update audit set outcome = ${outcome}, ended_at = now() where id = ${id}`;

/** Reads a page of the entries, newest first; pages count from 1. */
const readEntries = (
  sql: Sql,
  { page, rowsMax, ...filter }: AuditFilter & { page: number; rowsMax: number },
): Promise<ListPage<AuditEntry>> => {
  const where = buildFilter(sql, filter);
  const select = sql`
    select id, asked_at, operator, operation, target, details, outcome, ended_at from audit
    ${where ?? sql``} order by id desc`;
  return readPage<AuditEntry>(sql, { select, table: 'audit', where, rowsMax }, page);
};

export const createAudit = (sql: Sql) => bindStorage('audit', sql, { begin, end, page: readEntries });
