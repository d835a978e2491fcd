/**
 * The worker thread that runs PGlite behind its socket server. Started by pglite.ts only.
 *
 * PGlite is one backend with one session: it runs one statement at a time, and its wasm module blocks its
 * thread, so it needs a thread of its own. A failure inside the module (not an SQL error) makes it unusable
 * and would block the socket server's queue for ever, so the thread ends and clients see the connection
 * close. Messages in: `WorkerRequest`; messages out: `WorkerReply`.
 */
import { existsSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { parentPort, workerData } from 'node:worker_threads';
import { PGlite } from '@electric-sql/pglite';
import { PGLiteSocketServer } from '@electric-sql/pglite-socket';
import { type PackContents, packFolder } from './copy.ts';

export interface WorkerSettings {
  readonly directory: string;
  /** Unix socket to listen on, `''` for a free port of 127.0.0.1. */
  readonly socketPath: string;
}
/**
 * `copy` packs the quiesced folder into the file `into`; `close` ends the thread after the last statement.
 */
export type WorkerRequest = { readonly kind: 'copy'; readonly into: string } | { readonly kind: 'close' };
export type WorkerReply =
  | { readonly kind: 'ready'; readonly port: number; readonly initialised: boolean }
  | { readonly kind: 'copied'; readonly contents: PackContents }
  | { readonly kind: 'failed'; readonly operation: string; readonly message: string };

const port = parentPort;
if (!port) throw new Error('pglite-worker.ts runs in a worker thread only');
const { directory, socketPath } = workerData as WorkerSettings;

const sendReply = (message: WorkerReply): void => port.postMessage(message);

/** The wasm runtime also throws plain objects with a message. */
const toMessage = (error: unknown): string =>
  typeof error === 'object' && error !== null && 'message' in error ? String(error.message) : String(error);

const fail = (operation: string, error: unknown): void =>
  sendReply({ kind: 'failed', operation, message: toMessage(error) });

/** Creates the database under a draft name and renames it: a kill in between leaves no half database. */
const initialise = async (): Promise<boolean> => {
  if (existsSync(directory)) return false;
  const draft = `${directory}.new`;
  rmSync(draft, { recursive: true, force: true });
  const database = await PGlite.create(draft);
  await database.exec('checkpoint');
  await database.close();
  renameSync(draft, directory);
  return true;
};

/** Keeps the write-ahead log short: it is part of every snapshot. */
const settings = ['-c', 'min_wal_size=32MB'];

const openDatabase = async (): Promise<PGlite> => {
  // Without this file PGlite would create a new database in the folder.
  if (!existsSync(join(directory, 'PG_VERSION'))) throw new Error(`${directory} holds no database`);
  const database = await PGlite.create(directory, {
    startParams: [...PGlite.defaultStartParams, ...settings],
  });
  const run = database.execProtocolRawStream.bind(database);
  database.execProtocolRawStream = (message, options) =>
    run(message, options).catch((error: unknown) => {
      fail('run', error);
      process.exit(1);
    });
  return database;
};

const listen = async (database: PGlite): Promise<PGLiteSocketServer> => {
  const address = socketPath ? { path: socketPath } : { host: '127.0.0.1', port: 0 };
  // The client uses one connection; the others let it reconnect while an old connection still closes.
  const server = new PGLiteSocketServer({ db: database, ...address, maxConnections: 4 });
  await server.start();
  return server;
};

const copy = async (database: PGlite, into: string): Promise<void> => {
  const contents = await database.runExclusive(async () => packFolder(directory, into));
  sendReply({ kind: 'copied', contents });
};

const main = async (): Promise<void> => {
  const initialised = await initialise();
  const database = await openDatabase();
  const server = await listen(database);
  port.on('message', (request: WorkerRequest) => {
    if (request.kind === 'copy') {
      copy(database, request.into).catch((error: unknown) => fail('copy', error));
      return;
    }
    server
      .stop()
      .then(() => database.close())
      .catch((error: unknown) => fail('close', error))
      .finally(() => process.exit(0));
  });
  sendReply({ kind: 'ready', port: Number(server.getServerConn().split(':').at(-1)) || 0, initialised });
};

main().catch((error: unknown) => {
  fail('open', error);
  process.exit(1);
});
