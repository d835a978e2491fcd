/**
 * Opens a new database without a prepared one, until it is killed.
 */
import { join } from 'node:path';
import { openEmbeddedSql } from '../../../storage/embedded/pglite.ts';

const [directory = ''] = process.argv.slice(2);
await openEmbeddedSql({ directory, preparedFolder: join(directory, '../none') });
