/**
 * A process that imports a file slowly enough to be killed. Arguments: database folder, file. Prints the
 * number of lines done after each batch.
 */

import { openEmbeddedSql } from '../../../storage/embedded/pglite.ts';
import { importFile } from '../../../storage/import/import.ts';

const [directory = '', file = ''] = process.argv.slice(2);
const { sql, close } = await openEmbeddedSql({ directory });
await importFile(sql, file, {
  batchLines: 20,
  skipBad: true,
  now: '2026-03-01T00:00:00.000Z',
  onProgress: (linesDone) => process.stdout.write(`${linesDone}\n`),
});
await close();
