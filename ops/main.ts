/**
 * The program behind `npm start` and `rollcall start`. Where SQL is embedded, its thread loads the database
 * while this one loads the server.
 */
import { startSqlThread } from '../storage/embedded/sql-thread.ts';
import { dropHangUp, dropIdleSignals } from './setup/signals.mjs';

dropIdleSignals();
dropHangUp();

// All files that it creates are for its user alone. It counts for all threads and processes started here.
process.umask(0o077);
const { REDIS_URL: redis = '', DATABASE_URL: database = '' } = process.env;
const sqlThread = redis === '' && database === '' ? startSqlThread() : undefined;
const { runProgram } = await import('./program.ts');
runProgram({ file: import.meta.filename, sqlThread });
