/**
 * Operations of the private listener about whole stores, which the command line calls. A copy of the
 * stores and the lines of an import pass through them.
 */
import { type Static, Type } from 'typebox';
import { DomainError } from '../../engine/errors.ts';
import type { EntityKind } from '../../engine/ids.ts';
import { TargetId, Text } from '../api/shared/common.ts';
import { toUnknown } from '../request/changes.ts';
import { usualBodyLimits } from '../request/check.ts';
import { type Reply, replyMessage, replyOk } from '../response/reply.ts';
import type { AnyRoute } from '../route.ts';
import { type AdminOperation, defineOperation } from './operation.ts';
import { ListingParams } from './schema.ts';

export const StoresOwner = Type.Object({ owner: Text });
export const CopyBody = Type.Object({ parts: Type.Enum(['all', 'sql']) });

/** Lines of one request: few enough that checking them does not hold up other requests. */
export const importLinesMax = 500;
/** A client that is silent for longer has left: another import may begin. */
export const importPauseMsMax = 15_000;

export const ImportBody = Type.Object({ file: Type.String({ ...TargetId, maxLength: 128 }) });

const importId = { import_id: Type.Integer({ minimum: 1, description: 'From the reply of the beginning.' }) };
export const EndImportBody = Type.Object({
  ...importId,
  outcome: Type.Enum(['done', 'stopped', 'interrupted', 'failed']),
});
/** How an import ended: `stopped` at a bad line, `interrupted` by the operator, or `failed`. */
export type ImportOutcome = Static<typeof EndImportBody>['outcome'];

export const ImportBegun = Type.Object({ import_id: Type.Integer() });

export const ImportLinesBody = Type.Object({
  ...importId,
  lines: Type.Array(Type.String(), { minItems: 1, maxItems: importLinesMax }),
});

/** Codes of one request. */
export const importCodesMax = 10_000;
export const ImportCodesBody = Type.Object({
  ...importId,
  codes: Type.Array(Type.String({ maxLength: 64 }), { minItems: 1, maxItems: importCodesMax }),
});

export const ImportedLines = Type.Object({
  added: Type.Record(Type.String(), Type.Integer()),
  skipped: Type.Integer(),
  toMend: Type.Record(Type.String(), Type.Integer()),
  bad: Type.Array(Type.Object({ line: Type.Integer(), reason: Text })),
  milliseconds: Type.Number({ description: 'How long they held up other work on SQL.' }),
});
export type ImportedLines = Static<typeof ImportedLines>;

export interface StoreAccess {
  /** Identifies the process that owns the data folder. */
  readonly owner: string;
  inspect(kind: EntityKind, id: string): Promise<object>;
  /** Streams a copy, see storage/backup/live.ts; `null` for stores that other programs can copy. */
  readonly sendCopy: ((parts: 'all' | 'sql') => AsyncIterable<string | Uint8Array>) | null;
  /**
   * Begins an import with the id that `record` resolves to. Rejects with `overloaded` while another one is
   * open; the other calls reject with `not_found` when this one is not.
   */
  beginImport(record: () => Promise<number>): Promise<number>;
  /** Reserves codes for the lines that request them. Resolves to whether there was room for them. */
  keepCodes(id: number, codes: readonly string[]): Promise<boolean>;
  /** Imports all lines, or, when one is bad, none; ledger when it resolves. */
  importLines(id: number, lines: readonly string[]): Promise<ImportedLines>;
  /** After the last lines: counts lists, and lets another import begin. */
  endImport(id: number): Promise<void>;
}

/** One line of the largest size (2 MiB) with every character escaped, or many short ones. */
export const importBytesMax = 8 * 1024 * 1024;

const importLimits = {
  ...usualBodyLimits,
  bytesMax: importBytesMax,
  valuesMax: importLinesMax + 10,
};

const codesLimits = { ...usualBodyLimits, bytesMax: importBytesMax, valuesMax: importCodesMax + 10 };
const tooManyCodes =
  'More vanity codes are asked for than a running node keeps. Stop the node, and import the file without it.';

const replyCopy = ({ sendCopy }: StoreAccess, parts: 'all' | 'sql'): Reply => {
  if (sendCopy === null) return replyMessage('The stores of this node are servers: copy them with `backup`.');
  return { status: 200, stream: sendCopy(parts), headers: { 'Content-Type': 'application/octet-stream' } };
};

const buildReads = (access: StoreAccess): readonly AdminOperation[] => [
  defineOperation('stores owner', 'GET /stores/owner', {
    summary: 'Identifies the process that owns the data folder.',
    replies: { 200: StoresOwner },
    handle: () => replyOk({ owner: access.owner }),
  }),
  defineOperation('stores inspect', 'GET /stores/inspect/{target_type}/{target_id}', {
    summary: 'Shows what the catalogue, SQL and the hot store have about one entity.',
    params: ListingParams,
    replies: { 200: Type.Unknown() },
    handle: async (_app, { params }) => replyOk(await access.inspect(params.target_type, params.target_id)),
  }),
  defineOperation('stores copy', 'POST /stores/copy', {
    summary: 'Streams a copy of the embedded stores, both as of one moment, or of SQL alone.',
    body: CopyBody,
    replies: { 200: Type.Unknown() },
    handle: (_app, { body }) => replyCopy(access, body.parts),
  }),
];

const buildImports = (access: StoreAccess): readonly AdminOperation[] => [
  defineOperation('stores import', 'POST /stores/import', {
    summary: 'Records that an import begins.',
    isAudited: false, // The end completes the record.
    body: ImportBody,
    replies: { 200: ImportBegun },
    handle: async ({ catalogue }, { operator, body }) => {
      const entry = { operator, operation: 'stores import', target: '', details: body };
      return replyOk({ import_id: await access.beginImport(() => catalogue.operator.audit.begin(entry)) });
    },
  }),
  defineOperation('stores import-codes', 'POST /stores/import/codes', {
    summary: 'Keeps vanity codes for the lines that ask for them.',
    isAudited: false,
    bodyLimits: codesLimits,
    body: ImportCodesBody,
    handle: async (_app, { body }) => {
      if (await access.keepCodes(body.import_id, body.codes)) return replyMessage('The codes are kept.');
      throw new DomainError('overloaded', tooManyCodes, { outcome: 'not_applied' });
    },
  }),
  defineOperation('stores import-lines', 'POST /stores/import/lines', {
    summary: 'Imports lines: all of them, or none when one is bad.',
    isAudited: false,
    callsOutbound: true,
    bodyLimits: importLimits,
    body: ImportLinesBody,
    replies: { 200: ImportedLines },
    handle: async (_app, { body }) => replyOk(await access.importLines(body.import_id, body.lines)),
  }),
  defineOperation('stores end-import', 'POST /stores/import/end', {
    summary: 'Ends an import: counts lists, expires caches, and records how it ended.',
    isAudited: false,
    callsOutbound: true,
    body: EndImportBody,
    handle: async ({ catalogue }, { body }) => {
      const end = () => catalogue.operator.audit.end(body.import_id, body.outcome);
      await access
        .endImport(body.import_id)
        .then(end)
        .catch((failure: unknown) => {
          throw toUnknown(failure);
        });
      return replyMessage('The import has ended.');
    },
  }),
];

export const buildStoreRoutes = (access: StoreAccess): readonly AnyRoute[] =>
  [...buildReads(access), ...buildImports(access)].map(({ route }) => route);
