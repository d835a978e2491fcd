/**
 * One kind of record in the export: the statement of one page, the shape of one record, and what records have
 * in common. Used by records.ts and offers.ts.
 */
import type { RecordKind } from '../import/schema.ts';
import type { Queryable } from '../sql/client.ts';

export type ExportRow = Record<string, unknown>;
export interface ExportSection {
  readonly kind: RecordKind;
  /** Where the first page begins: below every key. */
  readonly start: string;
  /** Rows after `after` in order; each has its key in `key`. */
  readonly page: (sql: Queryable, after: string, limit: number) => Promise<readonly ExportRow[]>;
  readonly record: (row: ExportRow) => ExportRow;
}

export const noUuid = '00000000-0000-0000-0000-000000000000';

/** Time as the wire writes it. */
export const formatTime = (value: unknown): string | undefined =>
  value instanceof Date ? value.toISOString() : undefined;
const isEmpty = (value: unknown): boolean =>
  value === undefined ||
  value === null ||
  value === false ||
  value === 0 ||
  value === '' ||
  (Array.isArray(value) && value.length === 0);

/** Without what the import fills in itself. */
export const dropEmpty = (fields: ExportRow): ExportRow =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => !isEmpty(value)));

export const pickFields = (row: ExportRow, names: readonly string[]): ExportRow =>
  Object.fromEntries(names.map((name) => [name, row[name]]));
