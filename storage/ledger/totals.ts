/**
 * The counted columns of the table `totals`, as `engine/entity/fields.ts` lists them: the statement by which
 * a flush writes them, and their conversion when a listing is read.
 */

import {
  compile,
  type FieldName,
  fieldKinds,
  fields,
  type totalsFields,
} from '../../engine/entity/fields.ts';
import type { Totals } from '../../engine/entity/state.ts';
import type { DirtyEntity } from '../../engine/ports.ts';
import { formatNumbers, formatTexts, type Transaction } from '../sql/client.ts';
import { readFlag } from '../sql/rows.ts';

/** The counted columns of a row. SQL computes milliseconds; unsigned 64-bit values are decimal strings. */
export type TotalsColumns = {
  readonly [Name in FieldName as (typeof totalsFields)[Name]['column']]: Totals[Name];
};

/** Converts the columns of a row. */
export const readTotals = compile<(row: TotalsColumns) => Totals>(
  `(row) => ({ ${fields.map(({ name, column }) => `${name}: row.${column}`).join()} })`,
);

interface WrittenColumn {
  readonly name: string;
  readonly type: 'bigint' | 'numeric' | 'text';
  readonly read: (entity: DirtyEntity) => number | string;
}

const guards: readonly WrittenColumn[] = [
  { name: 'generation', type: 'bigint', read: ({ generation }) => generation },
  { name: 'version', type: 'bigint', read: ({ state }) => state.version },
];
const columns: readonly WrittenColumn[] = [
  { name: 'incarnation', type: 'bigint', read: ({ ref }) => ref.incarnation },
  ...guards,
  ...fields.map(({ name, column, kind }) => {
    const read = ({ state }: DirtyEntity) => state[name];
    return { name: column, type: fieldKinds[kind].column, read };
  }),
];
const written = [...guards.map(({ name }) => name), ...fields.map(({ column }) => column)];

/**
 * Updates a row where (generation, version) is newer, from the arrays that begin at parameter `first`. With
 * `votesAdded` one more array has the votes to number of each row.
 */
export const buildTotalsUpdate = (first: number, votesAdded: boolean): string => `
  update totals set ${written.map((name) => `${name} = new.${name}`).join()}
    ${votesAdded ? ', votes_logged = votes_logged + new.votes_added' : ''}
  from unnest(${columns.map(({ type }, index) => `(select $${first + index}::${type}[])`).join()}
    ${votesAdded ? `, (select $${first + columns.length}::bigint[])` : ''}
  ) as new (${columns.map(({ name }) => name).join()}${votesAdded ? ', votes_added' : ''})
  where totals.incarnation = new.incarnation
    and (totals.generation, totals.version) < (new.generation, new.version)`;

/** Formats the arrays for `buildTotalsUpdate`, without `votesAdded`. */
export const formatTotals = (rows: readonly DirtyEntity[]): string[] =>
  columns.map(({ type, read }) =>
    type === 'text'
      ? formatTexts(rows.map((row) => String(read(row))))
      : formatNumbers(rows.map((row) => read(row))),
  );

const statement = buildTotalsUpdate(1, true);

/**
 * Writes absolute totals and takes `votesAdded` numbers of votes for each of the rows, which are in the order
 * of their incarnations. Resolves to the incarnations of the rows written if `returnsWritten`.
 */
export const writeTotals = async (
  transaction: Transaction,
  rows: readonly DirtyEntity[],
  { votesAdded, returnsWritten }: { votesAdded: readonly number[]; returnsWritten: boolean },
): Promise<readonly number[]> => {
  const result = await transaction.unsafe<{ incarnation: number }[]>(
    returnsWritten ? `${statement} returning totals.incarnation` : statement,
    [...formatTotals(rows), formatNumbers(votesAdded)],
    { prepare: true },
  );
  return result.map(({ incarnation }) => incarnation);
};

/**
 * Locks the totals of these listings until the transaction ends, in the order that every writer uses.
 * Resolves to whether one of them, or of their owners, may have an enabled webhook endpoint.
 */
export const lockTotals = (transaction: Transaction, incarnations: Iterable<number>): Promise<boolean> => {
  const sorted = [...new Set(incarnations)].sort((left, right) => left - right);
  return readFlag(transaction`
    select bool_or(webhooks > 0)
      or exists (select from webhook_endpoints where scope = 'owned' and enabled) as watched
    from (
      select webhooks from totals where incarnation = any(${formatNumbers(sorted)}::bigint[])
      order by incarnation for no key update
    ) as locked`);
};
