/**
 * Schemas of the private listener's routes about whole stores, which the command line calls. A copy of the
 * stores and the lines of an import pass through them.
 */
import { type Static, Type } from 'typebox';
import { TargetId, Text } from './common.ts';
import { ListingParams } from './operator.ts';

export const InspectParams = ListingParams;
export const StoresOwner = Type.Object({ owner: Text });
export const CopyBody = Type.Object({ parts: Type.Enum(['all', 'sql']) });

/** Lines of one request: few enough that checking them does not hold up other requests. */
export const importLinesMax = 200;
export const ImportBody = Type.Object({ file: Type.String({ ...TargetId, maxLength: 128 }) });
/** How an import ended: `stopped` at a bad line, `interrupted` by the operator, or `failed`. */
export const importOutcomes = ['done', 'stopped', 'interrupted', 'failed'] as const;
export type ImportOutcome = (typeof importOutcomes)[number];
export const EndImportBody = Type.Object({
  import_id: Type.Integer({ minimum: 1, description: 'From the reply of the beginning.' }),
  outcome: Type.Enum(importOutcomes),
});
export const ImportBegun = Type.Object({ import_id: Type.Integer() });
export const ImportLinesBody = Type.Object({
  lines: Type.Array(Type.String(), { minItems: 1, maxItems: importLinesMax }),
});
export const ImportedLines = Type.Object({
  added: Type.Record(Type.String(), Type.Integer()),
  skipped: Type.Integer(),
  bad: Type.Array(Type.Object({ line: Type.Integer(), reason: Text })),
});
export type ImportedLines = Static<typeof ImportedLines>;
