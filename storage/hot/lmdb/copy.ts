/**
 * Copies LMDB's tables, without a journal: they must hold all that was acknowledged before.
 *
 * Called by store.ts inside the table queue, after a checkpoint.
 */
import { open } from 'lmdb';
import { createNotAppliedError } from '../../../engine/errors.ts';
import type { Writer } from './writer.ts';

/** Copies into an empty folder. Rejects while the tables are whole only together with the journal. */
export const writeCopy = async ({ tables, partial }: Writer, folder: string): Promise<void> => {
  if (partial) throw createNotAppliedError('copy', 'busy', 'the last checkpoint did not end');
  await tables.root.backup(folder, false);
  const copy = open<unknown, string>({ path: folder, maxDbs: 16, overlappingSync: false });
  // A store that names no journal begins one when it is opened.
  await copy.openDB<unknown, string>({ name: 'meta' }).remove('journal');
  await copy.close();
};
