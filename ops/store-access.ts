/**
 * What the private listener may do with the whole stores of its node: inspect, copy, import.
 *
 * Joins storage to the routes of http/operator/stores.ts. An import adds rows beside the node's own work, one
 * small batch at a time.
 */
import { DomainError } from '../engine/errors.ts';
import type { StoreAccess } from '../http/operator/stores.ts';
import { createCopySender } from '../storage/backup/live.ts';
import { recountLists } from '../storage/catalogue/lists/list-segments.ts';
import { describeOwner } from '../storage/embedded/lock-file.mjs';
import { inspectEntity } from '../storage/export/inspect.ts';
import { ImportStopped, importLines } from '../storage/import/import.ts';
import type { Stores } from '../storage/open.ts';

/** Some 100 MB of codes. */
const requestedCodesMax = 1_000_000;

export const createStoreAccess = (
  stores: Pick<Stores, 'sql' | 'hot' | 'copySource'>,
  dataDir: string,
): StoreAccess => {
  const { sql, copySource } = stores;
  const requestedCodes = new Set<string>();
  let importing = false;
  const runImport = async (lines: readonly string[]) => {
    try {
      const { added, skipped, toMend } = await importLines(sql, lines, {
        batchLines: lines.length,
        requestedCodes,
      });
      return { added, skipped, toMend, bad: [] };
    } catch (error) {
      if (!(error instanceof ImportStopped)) throw error;
      const bad = error.badLines.map(({ line, reason }) => ({ line, reason }));
      return { added: {}, skipped: 0, toMend: {}, bad };
    }
  };
  return {
    owner: describeOwner(),
    inspect: (kind, id) => inspectEntity(stores, kind, id),
    sendCopy: copySource === null ? null : createCopySender(copySource, dataDir),
    beginImport: () => requestedCodes.clear(),
    keepCodes: (codes) => {
      if (requestedCodes.size + codes.length > requestedCodesMax) return false;
      for (const code of codes) requestedCodes.add(code);
      return true;
    },
    importLines: async (lines) => {
      if (importing) {
        const message = 'Another import is in progress at this node. Try again when it has ended.';
        throw new DomainError('overloaded', message, { outcome: 'not_applied' }, 1);
      }
      importing = true;
      try {
        return await runImport(lines);
      } finally {
        importing = false;
      }
    },
    endImport: () => {
      requestedCodes.clear();
      return recountLists(sql);
    },
  };
};
