/**
 * The worker thread that runs PGlite behind its socket server.
 *
 * PGlite is one backend with one session: it runs one statement at a time, and its wasm module blocks its
 * thread, so it needs a thread of its own. It loads and compiles the module before the request to open a
 * folder comes. A failure inside the module (not an SQL error) makes it unusable and would block the socket
 * server's queue for ever, so the thread ends and clients see the connection close. Messages in:
 * `WorkerRequest`; messages out: `WorkerReply`.
 */
import { once } from 'node:events';
import { existsSync, rmSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { Server, Socket } from 'node:net';
import { join } from 'node:path';
import { parentPort } from 'node:worker_threads';
import { PGlite, type PGliteOptions } from '@electric-sql/pglite';
import { pg_trgm as trigrams } from '@electric-sql/pglite/contrib/pg_trgm';
import { PGLiteSocketServer } from '@electric-sql/pglite-socket';
import { type PackContents, packFolder } from './copy.ts';
import { createSyncedFiles, type SyncedFiles } from './synced-files.ts';

/** The first message. */
export interface OpenRequest {
  readonly kind: 'open';
  readonly directory: string;
  /** Unix socket to listen on, `''` for a free port of 127.0.0.1. */
  readonly socketPath: string;
}
/**
 * `copy` packs the quiesced folder into the file `into`; `close` ends the thread after the last statement;
 * `synced` answers `files_to_sync`, with the failure or `''`.
 */
export type WorkerRequest =
  | OpenRequest
  | { readonly kind: 'copy'; readonly into: string }
  | { readonly kind: 'close' }
  | { readonly kind: 'synced'; readonly failure: string };
export type WorkerReply =
  | { readonly kind: 'ready'; readonly port: number }
  | { readonly kind: 'checkpoint_due' }
  | { readonly kind: 'disk_full'; readonly full: boolean }
  | { readonly kind: 'files_to_sync'; readonly paths: readonly string[] }
  | { readonly kind: 'copied'; readonly contents: PackContents }
  | { readonly kind: 'failed'; readonly operation: string; readonly message: string };

const port = parentPort;
if (!port) throw new Error('pglite-worker.ts runs in a worker thread only');

const sendReply = (message: WorkerReply): void => port.postMessage(message);

// Keeps the event loop alive. Without any listener, as between two steps of an opening, Node would wait until
// V8's threads have optimized all functions that are due: 200 ms of a start.
port.on('message', () => {});

/** Reads the message of an error; the wasm runtime also throws plain objects with one. */
const toMessage = (error: unknown): string =>
  typeof error === 'object' && error !== null && 'message' in error ? String(error.message) : String(error);

const fail = (operation: string, error: unknown): void =>
  sendReply({ kind: 'failed', operation, message: toMessage(error) });

const endThread = (operation: string, error: unknown): never => {
  fail(operation, error);
  process.exit(1);
};

/**
 * `-F` would turn syncs off, and `fdatasync` never reaches the files. The default of `shared_buffers`, 128
 * MB, would be filled in the course of time.
 */
const startParams = [
  ...PGlite.defaultStartParams.filter((parameter) => parameter !== '-F'),
  ...['-c', 'wal_sync_method=fsync'],
  ...['-c', 'shared_buffers=16MB'],
  ...['-c', 'min_wal_size=32MB'],
  ...['-c', 'max_wal_size=96MB'],
  // It keeps files of tables and indexes open; the default of 1,000 would be all that a database has.
  ...['-c', 'max_files_per_process=256'],
  // Otherwise each checkpoint writes and renames files for them.
  ...['-c', 'max_active_replication_origins=0'],
  ...['-c', 'max_replication_slots=0'],
];

/** Lets the main thread sync the files. Rejects with its failure. One call at a time. */
const syncFiles = (paths: readonly string[]): Promise<void> =>
  new Promise((resolve, reject) => {
    const onMessage = (request: WorkerRequest): void => {
      if (request.kind !== 'synced') return;
      port.off('message', onMessage);
      if (request.failure === '') resolve();
      else reject(new Error(request.failure));
    };
    port.on('message', onMessage);
    sendReply({ kind: 'files_to_sync', paths });
  });

/** The types of Node leave it out. */
declare const WebAssembly: { compile(module: Uint8Array): Promise<object> };

/** Compiles the module ahead. If that fails, PGlite loads it by itself, and says what is wrong with it. */
const compileModule = async (): Promise<PGliteOptions> => {
  try {
    const file = new URL('pglite.wasm', import.meta.resolve('@electric-sql/pglite'));
    return { pgliteWasmModule: await WebAssembly.compile(await readFile(file)) };
  } catch {
    return {};
  }
};

const openFiles = (directory: string): SyncedFiles =>
  createSyncedFiles(directory, {
    syncFiles,
    onFailure: (error) => endThread('sync', error),
    onDiskFull: (full) => sendReply({ kind: 'disk_full', full }),
    onCheckpointDue: () => sendReply({ kind: 'checkpoint_due' }),
  });

/** Throws if a commit is answered before its log is on disk: another version of PGlite may do so. */
const assertSynced = async (database: PGlite, files: SyncedFiles): Promise<void> => {
  const before = files.countSyncs();
  await database.exec(`select pg_logical_emit_message(true, 'rollcall', 'a commit at the start')`);
  if (files.countSyncs() === before) throw new Error('this version of PGlite does not sync its commits');
};

/** Throws if the folder holds no database: PGlite would create a new one. */
const prepareFolder = (directory: string): void => {
  if (!existsSync(join(directory, 'PG_VERSION'))) throw new Error(`${directory} holds no database`);
  // A power cut may leave it empty, which Postgres refuses. The lock of the data folder keeps others out.
  rmSync(join(directory, 'postmaster.pid'), { force: true });
};

const openDatabase = async (files: SyncedFiles, compiled: PGliteOptions): Promise<PGlite> => {
  const database = await PGlite.create({
    fs: files.fileSystem,
    startParams,
    extensions: { pg_trgm: trigrams },
    ...compiled,
  });
  await assertSynced(database, files);
  // Statements need not wait for the opening's checkpoint: until it counts, the log for a recovery stays.
  files
    .awaitCheckpoint()
    .then(files.markOpened)
    .catch((error: unknown) => endThread('sync', error));
  const run = database.execProtocolRawStream.bind(database);
  database.execProtocolRawStream = (message, options) =>
    run(message, options).catch((error: unknown) => endThread('run', error));
  return database;
};

const readyForQuery = 'Z'.charCodeAt(0);

/**
 * Sends the answer to a statement in one write. The server writes the answer to each message of the protocol,
 * three to five in a statement, and each write would wake the client's thread.
 */
const gatherWrites = (socket: Socket): void => {
  const write = socket.write.bind(socket) as (...given: unknown[]) => boolean;
  socket.write = (data: Uint8Array | string, ...rest: unknown[]): boolean => {
    if (socket.writableCorked === 0) {
      socket.cork();
      process.nextTick(() => socket.uncork());
    }
    const hasRoom = write(data, ...rest);
    // The message that ends a statement has six bytes. Another statement of this tick may take long.
    if (typeof data !== 'string' && data.at(-6) === readyForQuery) socket.uncork();
    return hasRoom;
  };
};

const listen = async (database: PGlite, socketPath: string): Promise<PGLiteSocketServer> => {
  const address = socketPath ? { path: socketPath } : { host: '127.0.0.1', port: 0 };
  // The client uses one connection; the others let it reconnect while an old connection still closes.
  const server = new PGLiteSocketServer({ db: database, ...address, maxConnections: 4 });
  await server.start();
  (server as unknown as { readonly server: Server }).server.on('connection', gatherWrites);
  return server;
};

const copy = async (database: PGlite, directory: string, into: string): Promise<void> => {
  const contents = await database.runExclusive(async () => packFolder(directory, into));
  sendReply({ kind: 'copied', contents });
};

const close = async (server: PGLiteSocketServer, database: PGlite, files: SyncedFiles): Promise<void> => {
  await server.stop();
  await database.close();
  await files.awaitCheckpoint();
};

const main = async (): Promise<void> => {
  const compiled = compileModule();
  const [{ directory, socketPath }] = (await once(port, 'message')) as [OpenRequest];
  prepareFolder(directory);
  const files = openFiles(directory);
  const database = await openDatabase(files, await compiled);
  const server = await listen(database, socketPath);
  port.on('message', (request: WorkerRequest) => {
    if (request.kind === 'copy')
      copy(database, directory, request.into).catch((error: unknown) => fail('copy', error));
    else if (request.kind === 'close')
      close(server, database, files)
        .catch((error: unknown) => fail('close', error))
        .finally(() => process.exit(0));
  });
  sendReply({ kind: 'ready', port: Number(server.getServerConn().split(':').at(-1)) || 0 });
};

main().catch((error: unknown) => endThread('open', error));
