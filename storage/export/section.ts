/**
 * The type of a section of the export (one kind of record), and helpers that sections share. Used by
 * records.ts and offers.ts.
 */
import type { RecordKind } from '../import/schema.ts';
import type { Queryable } from '../sql/client.ts';

export type ExportRow = Record<string, unknown>;
export interface ExportSection {
  readonly kind: RecordKind;
  /** A value below every key, for the first page. */
  readonly start: string;
  /** Reads the rows whose key is above `after`, in order; each has its key in `key`. */
  readonly page: (sql: Queryable, after: string, limit: number) => Promise<readonly ExportRow[]>;
  readonly record: (row: ExportRow) => ExportRow;
}

export const noUuid = '00000000-0000-0000-0000-000000000000';

/** Formats a time in ISO 8601, UTC; `undefined` for anything else. */
export const formatTime = (value: unknown): string | undefined =>
  value instanceof Date ? value.toISOString() : undefined;
const isEmpty = (value: unknown): boolean =>
  value === undefined ||
  value === null ||
  value === false ||
  value === 0 ||
  value === '' ||
  (Array.isArray(value) && value.length === 0);

/** Removes empty values: the import uses them as defaults. */
export const dropEmpty = (fields: ExportRow): ExportRow =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => !isEmpty(value)));

export const pickFields = (row: ExportRow, names: readonly string[]): ExportRow =>
  Object.fromEntries(names.map((name) => [name, row[name]]));
