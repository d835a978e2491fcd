/**
 * Tells whether the embedded SQL of a data folder was shut down, as opposed to killed: Postgres notes it in
 * its control file.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Where the control file has the state of the database, and the value of one that was shut down. */
const stateAt = 16;
const shutDown = 1;

export const isSqlShutDown = (dataDir: string): boolean =>
  readFileSync(join(dataDir, 'postgres/global/pg_control')).readUInt32LE(stateAt) === shutDown;
