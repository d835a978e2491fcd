/**
 * What the private listener may do with the whole stores of its node: inspect, copy, import.
 *
 * Joins storage to the routes of http/operator/stores.ts. An import adds rows beside the node's own work, one
 * small batch at a time; one import at a time, until it ends or its client has been silent for a while.
 */
import { DomainError } from '../engine/errors.ts';
import { importPauseMsMax, type StoreAccess } from '../http/operator/stores.ts';
import { createCopySender } from '../storage/backup/live.ts';
import { recountLists } from '../storage/catalogue/lists/list-segments.ts';
import { describeOwner } from '../storage/embedded/lock-file.mjs';
import { inspectEntity } from '../storage/export/inspect.ts';
import { ImportStopped, importLines } from '../storage/import/import.ts';
import { createPartitions } from '../storage/ledger/partitions.ts';
import type { Stores } from '../storage/open.ts';
import type { Sql } from '../storage/sql/client.ts';

/** Some 100 MB of codes. */
const requestedCodesMax = 1_000_000;

const createImport = (sql: Sql) => ({
  /** 0 until it is recorded. */
  id: 0,
  requestedCodes: new Set<string>(),
  partitions: createPartitions(sql),
  calls: 0,
  lastCallMs: performance.now(),
});
type Import = ReturnType<typeof createImport>;

const isOpen = ({ calls, lastCallMs }: Import): boolean =>
  calls > 0 || performance.now() - lastCallMs < importPauseMsMax;

const createBusyError = (): DomainError => {
  const message = `Another import is in progress at this node, or was ended within the last \
${importPauseMsMax / 1_000} s. Try again when it has ended.`;
  return new DomainError('overloaded', message, { outcome: 'not_applied' }, 1);
};
const endedMessage =
  'This import is not open: the node was restarted, or has begun another one. Begin it again.';

const addLines = async (sql: Sql, { requestedCodes, partitions }: Import, lines: readonly string[]) => {
  let milliseconds = 0;
  const onTransaction = (ms: number): void => {
    milliseconds += ms;
  };
  const options = { batchLines: lines.length, requestedCodes, partitions, onTransaction };
  try {
    const { added, skipped, toMend } = await importLines(sql, lines, options);
    return { added, skipped, toMend, bad: [], milliseconds };
  } catch (error) {
    if (!(error instanceof ImportStopped)) throw error;
    const bad = error.badLines.map(({ line, reason }) => ({ line, reason }));
    return { added: {}, skipped: 0, toMend: {}, bad, milliseconds };
  }
};

const createImports = (
  sql: Sql,
): Pick<StoreAccess, 'beginImport' | 'keepCodes' | 'importLines' | 'endImport'> => {
  let current: Import | null = null;
  /** Runs a call of the import that is open. */
  const call = async <Result>(
    id: number,
    task: (open: Import) => Result | Promise<Result>,
  ): Promise<Result> => {
    if (current?.id !== id) throw new DomainError('not_found', endedMessage);
    const open = current;
    open.calls++;
    try {
      return await task(open);
    } finally {
      open.calls--;
      open.lastCallMs = performance.now();
    }
  };
  return {
    beginImport: async (record) => {
      if (current !== null && isOpen(current)) throw createBusyError();
      const open = createImport(sql);
      current = open;
      try {
        open.id = await record();
        return open.id;
      } catch (error) {
        current = null;
        throw error;
      }
    },
    keepCodes: (id, codes) =>
      call(id, ({ requestedCodes }) => {
        if (requestedCodes.size + codes.length > requestedCodesMax) return false;
        for (const code of codes) requestedCodes.add(code);
        return true;
      }),
    importLines: (id, lines) => call(id, (open) => addLines(sql, open, lines)),
    endImport: (id) =>
      call(id, () => recountLists(sql)).finally(() => {
        if (current?.id === id) current = null;
      }),
  };
};

export const createStoreAccess = (
  stores: Pick<Stores, 'sql' | 'hot' | 'copySource'>,
  dataDir: string,
): StoreAccess => {
  const { sql, copySource } = stores;
  return {
    owner: describeOwner(),
    inspect: (kind, id) => inspectEntity(stores, kind, id),
    sendCopy: copySource === null ? null : createCopySender(copySource, dataDir),
    ...createImports(sql),
  };
};
