/**
 * What the table of record kinds (kinds.ts) says about each kind, and fields that all kinds share.
 */
import Type, { type Static } from 'typebox';
import {
  type AnyRecord,
  createNested,
  createObjectSchema,
  makeOptional,
  type RecordFields,
  time,
} from './fields.ts';

export type RecordOf<Map extends RecordFields> = Static<ReturnType<typeof createObjectSchema<Map>>>;
type Reference = readonly [kind: string, id: string];

/** One kind of record. */
export interface Spec<Map extends RecordFields> {
  readonly table: string;
  /** The field that identifies a record. */
  readonly key: string;
  readonly fields: Map;
  /** `entity`: has totals and an incarnation. `named`: has a vanity code, too. */
  readonly listing?: 'entity' | 'named';
  /** For rows that others may insert at the same time, or that are not looked up before. */
  readonly ignoreConflicts?: true;
  /** Records are not looked up before they are inserted. */
  readonly isBlind?: true;
  /** A field whose value only one record has. */
  readonly unique?: keyof Map & string;
  /** Lists what must exist before this record. */
  readonly listReferences?: (record: RecordOf<Map>) => readonly Reference[];
  /** Finds fields that are valid alone but contradict each other. */
  readonly findContradiction?: (record: RecordOf<Map>) => string | null;
  /** What an export reads: table (as `e`) and columns. */
  readonly from?: string;
  readonly select?: string;
  readonly adaptRow?: (row: AnyRecord) => AnyRecord;
}

/** Adds the schema to a spec. */
export const defineKind = <const Name extends string, Map extends RecordFields>(
  name: Name,
  spec: Spec<Map>,
) => ({
  ...spec,
  name,
  schema: createObjectSchema({ kind: createNested(Type.Literal(name)), ...spec.fields }),
});

const atImport = (_: AnyRecord, now: string): string => now;
export const created = { created_at: makeOptional(time, atImport) };
/** Returns the time of change of a record that leaves it out. */
export const getCreation = (record: AnyRecord, now: string): unknown => record.created_at ?? now;
