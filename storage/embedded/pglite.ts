/**
 * Opens the embedded Postgres: a worker thread with PGlite, and the one `postgres` connection to it.
 *
 * One connection and no more: PGlite is a single session, and its socket server hands single protocol
 * messages of several clients to it, so that an error of one would make it skip messages of another.
 * Statements queue in the client instead; a transaction keeps the line until it ends, so inside `begin` use
 * only the transaction, and never wait there for something that needs a statement of its own.
 * The folder survives kill -9, not a power cut: see storage/embedded/.
 */
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { Worker } from 'node:worker_threads';
import postgres from 'postgres';
import { StorageError } from '../../engine/errors.ts';
import { commonOptions, createAdmittedPool, type Pool, type Sql } from '../sql/client.ts';
import type { PackContents } from './copy.ts';
import type { WorkerReply, WorkerRequest, WorkerSettings } from './pglite-worker.ts';

export interface EmbeddedOptions {
  /** The folder of the database alone. Made when it does not exist; its parent too. */
  readonly directory: string;
  /** A first start on a slow disk takes seconds; after this it is called hung. Default 120,000. */
  readonly openTimeoutMs?: number;
  /** Called once when the thread ends without having been asked: every later statement fails. */
  readonly onCrash?: (error: StorageError) => void;
}
export interface EmbeddedSql extends Pool {
  /** Whether the folder was made by this call. */
  readonly initialised: boolean;
  /**
   * Packs the folder into a new file while no statement runs. The file is not synced. Resolves to what lies
   * in it.
   */
  packInto(file: string): Promise<PackContents>;
  /** Ends statements, then the database, which writes its last checkpoint. Idempotent. */
  close(): Promise<void>;
}

/** A unix socket's path is limited to 104 bytes on some systems. */
const socketPathBytesMax = 100;
/** A last checkpoint takes longer only on a broken disk. */
const closeTimeoutMs = 30_000;

interface SocketAddress {
  readonly folder: string;
  readonly socketPath: string;
}

/** One name per database, so that a killed process leaves no folder that its successor does not take over. */
const makeSocketFolder = (directory: string): string => {
  const name = createHash('sha256').update(resolve(directory)).digest('hex').slice(0, 16);
  const folder = join(tmpdir(), `rollcall-sql-${name}`);
  try {
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { mode: 0o700 });
    return folder;
  } catch {
    // Somebody else's folder has that name.
    return mkdtempSync(join(tmpdir(), 'rollcall-sql-'));
  }
};

const chooseAddress = (directory: string): SocketAddress => {
  if (process.platform === 'win32') return { folder: '', socketPath: '' };
  const folder = makeSocketFolder(directory);
  const socketPath = join(folder, 's');
  if (Buffer.byteLength(socketPath) <= socketPathBytesMax) return { folder, socketPath };
  rmSync(folder, { recursive: true });
  return { folder: '', socketPath: '' };
};

const createUnreachableError = (operation: string, detail: string): StorageError =>
  new StorageError(operation, { outcome: 'unknown', reason: 'unreachable', detail });

/** Resolves with the next reply of the wanted kind; rejects on a failure of that operation and on exit. */
const readReply = <Kind extends WorkerReply['kind']>(
  worker: Worker,
  wanted: { kind: Kind; operation: string; timeoutMs: number },
): Promise<Extract<WorkerReply, { kind: Kind }>> =>
  new Promise((fulfil, reject) => {
    let reason = '';
    const settle = (act: () => void): void => {
      clearTimeout(timer);
      worker.off('message', onMessage);
      worker.off('error', onError);
      worker.off('exit', onExit);
      act();
    };
    const onMessage = (message: WorkerReply): void => {
      if (message.kind === wanted.kind) {
        settle(() => fulfil(message as Extract<WorkerReply, { kind: Kind }>));
      } else if (message.kind === 'failed') {
        reason = message.message;
        if (message.operation === wanted.operation)
          settle(() => reject(createUnreachableError(wanted.operation, reason)));
      }
    };
    const onError = (error: Error): void =>
      settle(() => reject(createUnreachableError(wanted.operation, error.message)));
    const onExit = (): void =>
      settle(() => reject(createUnreachableError(wanted.operation, reason || 'the database thread ended')));
    const timer = setTimeout(
      () =>
        settle(() => reject(createUnreachableError(wanted.operation, `no answer in ${wanted.timeoutMs} ms`))),
      wanted.timeoutMs,
    );
    worker.on('message', onMessage);
    worker.on('error', onError);
    worker.on('exit', onExit);
  });

const connect = (address: SocketAddress, port: number): Sql =>
  postgres({
    ...commonOptions,
    ...(address.socketPath ? { path: address.socketPath } : {}),
    host: '127.0.0.1',
    port: port || 5432,
    user: 'postgres',
    password: 'unused',
    database: 'postgres',
    ssl: false,
    max: 1,
    max_lifetime: null,
    idle_timeout: 0,
  });

const startWorker = (settings: WorkerSettings): Worker =>
  new Worker(new URL('./pglite-worker.ts', import.meta.url), { workerData: settings, name: 'pglite' });

/**
 * Opens the folder, making it when there is none (seconds; later starts take about 0.3 s).
 * Rejects with a `StorageError` when it does not open; the folder is then left as it is.
 */
export const openEmbeddedSql = async (options: EmbeddedOptions): Promise<EmbeddedSql> => {
  mkdirSync(dirname(options.directory), { recursive: true, mode: 0o700 });
  const address = chooseAddress(options.directory);
  const worker = startWorker({ directory: options.directory, socketPath: address.socketPath });
  const cleanUp = (): void => {
    if (address.folder) rmSync(address.folder, { recursive: true, force: true });
  };
  let ready: Extract<WorkerReply, { kind: 'ready' }>;
  try {
    const timeoutMs = options.openTimeoutMs ?? 120_000;
    ready = await readReply(worker, { kind: 'ready', operation: 'open', timeoutMs });
  } catch (error) {
    await worker.terminate();
    cleanUp();
    throw error;
  }
  return superviseWorker(
    { worker, ready, pool: createAdmittedPool(connect(address, ready.port), 1), cleanUp },
    options,
  );
};

interface RunningWorker {
  readonly worker: Worker;
  readonly ready: Extract<WorkerReply, { kind: 'ready' }>;
  readonly pool: Pool;
  readonly cleanUp: () => void;
}

const superviseWorker = (running: RunningWorker, options: EmbeddedOptions): EmbeddedSql => {
  const { worker, pool } = running;
  const ended = new Promise<void>((fulfil) => worker.once('exit', () => fulfil()));
  let reason = '';
  let alive = true;
  let closing: Promise<void> | null = null;
  const send = (request: WorkerRequest): void => worker.postMessage(request);
  worker.on('error', (error) => {
    reason = error.message;
  });
  worker.on('message', (message: WorkerReply) => {
    if (message.kind === 'failed') reason = message.message;
  });
  void ended.then(() => {
    alive = false;
    running.cleanUp();
    if (!closing) options.onCrash?.(createUnreachableError('run', reason || 'the database thread ended'));
  });
  const close = async (): Promise<void> => {
    await pool.sql.end({ timeout: 5 });
    send({ kind: 'close' });
    // A backend that lost its protocol spins for ever and hears nothing.
    const timer = setTimeout(() => void worker.terminate(), closeTimeoutMs);
    await ended;
    clearTimeout(timer);
  };
  return {
    ...pool,
    initialised: running.ready.initialised,
    async packInto(file) {
      if (!alive) throw createUnreachableError('copy', reason || 'the database thread ended');
      const copied = readReply(worker, { kind: 'copied', operation: 'copy', timeoutMs: 600_000 });
      send({ kind: 'copy', into: file });
      return (await copied).contents;
    },
    close() {
      closing ??= close();
      return closing;
    },
  };
};
