/**
 * The table of record kinds (docs/operators/import-format.md): the fields of each, its key, what it refers
 * to, and where SQL has it. The check of a line, the look-up, the insert and the export all follow it.
 *
 * The order of the kinds is the order of an export: a record comes after those it refers to.
 */
import type { Static, TSchema } from 'typebox';
import { contentKinds } from './content.ts';
import { directoryKinds } from './directory.ts';
import type { RecordFields } from './fields.ts';
import type { Spec } from './spec.ts';

const kinds = { ...directoryKinds, ...contentKinds };
export type KindName = keyof typeof kinds;
export type ImportRecord = { [Name in KindName]: Static<(typeof kinds)[Name]['schema']> }[KindName];
export type RecordOfKind<Name extends KindName> = Extract<ImportRecord, { kind: Name }>;

/** A kind as the code sees it that treats all alike. */
export type RecordKind = Spec<RecordFields> & { readonly name: KindName; readonly schema: TSchema };
export const recordKinds = kinds as unknown as Readonly<Record<KindName, RecordKind>>;
export const kindNames = Object.keys(kinds) as readonly KindName[];

/**
 * The number of the form of an export. Its first line says it, and an import refuses any other: what a field
 * means may differ.
 */
export const exportFormat = 1;
export const exportHead = JSON.stringify({ kind: 'export', format: exportFormat });

/** Says what is wrong with the first line of an export, `''` if nothing is. */
export const findFormatFault = ({ format }: { readonly format?: unknown }): string =>
  format === exportFormat
    ? ''
    : `made by format ${JSON.stringify(format) ?? 'none'}; this program knows ${exportFormat}. ` +
      'Use the version that wrote it';
