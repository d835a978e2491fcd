/**
 * Opens the embedded Postgres: a worker thread with PGlite, and the one `postgres` connection to it.
 *
 * One connection at most: PGlite is a single session, and its socket server interleaves the protocol messages
 * of several clients, so an error of one client would make PGlite skip messages of another.
 * Statements queue in the client instead. A transaction occupies the connection until it ends: in `begin`,
 * use only the transaction, and never wait for work that needs another statement. A commit is on disk when it
 * is answered (synced-files.ts).
 */
import { spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { on, once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import type { Worker } from 'node:worker_threads';
import postgres from 'postgres';
import { createNotAppliedError, StorageError } from '../../engine/errors.ts';
import { commonOptions, createAdmittedPool, type Pool, type Sql } from '../sql/client.ts';
import { applySettings } from '../sql/settings.ts';
import { syncFiles } from './background-syncs.ts';
import { type PackContents, syncPath } from './copy.ts';
import type { WorkerReply, WorkerRequest } from './pglite-worker.ts';
import { createProgram, unpackPrepared } from './prepared.ts';
import { type SqlThread, startSqlThread } from './sql-thread.ts';

export interface EmbeddedOptions {
  /** The folder of the database and nothing else. Created if missing, and its parents too. */
  readonly directory: string;
  /** Where the prepared database is. Default: where the installation keeps it. */
  readonly preparedFolder?: string | undefined;
  /** A thread that no database was opened in yet. Default: a new one. */
  readonly thread?: SqlThread | undefined;
  /** After this time the start has failed. A first start on a slow disk takes seconds. Default 120,000. */
  readonly openTimeoutMs?: number;
  /** Called once if the thread ends without `close`: every later statement fails. */
  readonly onCrash?: (error: StorageError) => void;
  /** Called when statements begin to wait for room on the disk. */
  readonly onDiskFull?: ((error: StorageError) => void) | undefined;
  /** Called when a checkpoint fails; the next one is tried after as much log again. */
  readonly onWarning?: (message: string, error: unknown) => void;
}
export type EmbeddedSql = ReturnType<typeof superviseThread>;

/** Some systems limit the path of a unix socket to 104 bytes. */
const socketPathBytesMax = 100;
/** Only on a broken disk does the last checkpoint take longer. */
const closeTimeoutMs = 30_000;

/** The database was not touched; the message is for the operator. */
export class SocketFolderError extends Error {}

const makeOtherFolder = (): string => {
  try {
    return mkdtempSync(join(tmpdir(), 'rollcall-sql-'));
  } catch (error) {
    throw new SocketFolderError(
      `The temporary folder ${tmpdir()} cannot be used (${(error as NodeJS.ErrnoException).code}): the ` +
        'embedded SQL needs a socket there. Set TMPDIR to a folder that this user may write to.',
    );
  }
};

/**
 * Makes the socket's folder. Its name depends on the database, so a start reuses what a killed process left.
 * Throws a `SocketFolderError`.
 */
const makeSocketFolder = (directory: string): string => {
  const name = createHash('sha256').update(resolve(directory)).digest('hex').slice(0, 16);
  const folder = join(tmpdir(), `rollcall-sql-${name}`);
  try {
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { mode: 0o700 });
    return folder;
  } catch {
    // The folder belongs to another user.
    return makeOtherFolder();
  }
};

/** Returns the path of the socket in a folder of its own; `''` where only a port is possible. */
const chooseSocketPath = (directory: string): string => {
  if (process.platform === 'win32') return '';
  const folder = makeSocketFolder(directory);
  const socketPath = join(folder, 's');
  if (Buffer.byteLength(socketPath) <= socketPathBytesMax) return socketPath;
  rmSync(folder, { recursive: true });
  return '';
};

/** Creates the error of a log without room. Statements wait for room; an opening is given up. */
const createFullError = (): StorageError =>
  createNotAppliedError('open', 'full', 'no room for the log of SQL');

const createUnreachableError = (operation: string, detail: string): StorageError =>
  new StorageError(operation, { outcome: 'unknown', reason: 'unreachable', detail });

/**
 * Resolves with the next reply of `kind`. Rejects if `operation` fails, at exit, after `timeoutMs`, and if an
 * opening finds the disk full.
 */
const readReply = async <Kind extends WorkerReply['kind']>(
  { worker, describeEnd }: SqlThread,
  { kind, operation, timeoutMs }: { kind: Kind; operation: string; timeoutMs: number },
): Promise<Extract<WorkerReply, { kind: Kind }>> => {
  const signal = AbortSignal.timeout(timeoutMs);
  try {
    for await (const [message] of on(worker, 'message', { close: ['exit'], signal })) {
      const reply = message as WorkerReply;
      if (reply.kind === kind) return reply as Extract<WorkerReply, { kind: Kind }>;
      if (operation === 'open' && reply.kind === 'disk_full' && reply.full) throw createFullError();
      if (reply.kind === 'failed' && reply.operation === operation)
        throw createUnreachableError(operation, reply.message);
    }
  } catch (error) {
    if (error instanceof StorageError) throw error;
    if (signal.aborted) throw createUnreachableError(operation, `no answer in ${timeoutMs} ms`);
    // Else it is the failure that ends the thread, which `describeEnd` names.
  }
  throw createUnreachableError(operation, describeEnd());
};

const connect = (socketPath: string, port: number): Sql =>
  applySettings(
    postgres({
      ...commonOptions,
      ...(socketPath && { path: socketPath }),
      host: '127.0.0.1',
      port: port || 5432,
      user: 'postgres',
      password: 'unused',
      database: 'postgres',
      ssl: false,
      max: 1,
      max_lifetime: null,
      idle_timeout: 0,
    }),
  );

/** Syncs the files that the thread names, and answers it. */
const syncForThread = (worker: Worker): void => {
  const answer = (failure: string): void =>
    worker.postMessage({ kind: 'synced', failure } satisfies WorkerRequest);
  worker.on('message', (message: WorkerReply) => {
    if (message.kind !== 'files_to_sync') return;
    syncFiles(message.paths).then(
      () => answer(''),
      (error: unknown) => answer(String(error)),
    );
  });
};

/** Runs the program that creates a database in a new folder. */
const runCreateProgram = async (directory: string): Promise<void> => {
  const child = spawn(process.execPath, [...process.execArgv, createProgram, directory], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const [output, [code]] = await Promise.all([text(child.stderr), once(child, 'close')]);
  if (code !== 0) throw createUnreachableError('create', output.trim() || 'its process was ended');
};

/** Removes what killed starts left. A program that outlived its start may still write; it ends by itself. */
const removeDrafts = (directory: string): void => {
  for (const name of readdirSync(dirname(directory))) {
    if (!name.startsWith(`${basename(directory)}.new`)) continue;
    try {
      rmSync(join(dirname(directory), name), { recursive: true });
    } catch (error) {
      if (!['ENOTEMPTY', 'ENOENT'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
    }
  }
};

/**
 * Copies the prepared database, or creates one, under a draft name of its own and renames it: a kill in
 * between leaves no half database.
 */
const createDatabase = async ({ directory, preparedFolder }: EmbeddedOptions): Promise<void> => {
  removeDrafts(directory);
  const draft = `${directory}.new-${randomBytes(4).toString('hex')}`;
  if (!(await unpackPrepared(draft, preparedFolder))) await runCreateProgram(draft);
  renameSync(draft, directory);
  await syncPath(dirname(directory), true);
};

/**
 * Opens the database, and creates it if missing (0.2 s, or seconds; later starts take about 0.3 s).
 * Rejects with a `StorageError` if it does not open, and leaves the folder as it is.
 */
export const openEmbeddedSql = async (options: EmbeddedOptions): Promise<EmbeddedSql> => {
  const { directory } = options;
  mkdirSync(dirname(directory), { recursive: true, mode: 0o700 });
  if (!existsSync(directory)) await createDatabase(options);
  const socketPath = chooseSocketPath(directory);
  const thread = options.thread ?? startSqlThread();
  const { worker } = thread;
  syncForThread(worker);
  const cleanUp = (): void => {
    if (socketPath) rmSync(dirname(socketPath), { recursive: true, force: true });
  };
  let ready: Extract<WorkerReply, { kind: 'ready' }>;
  try {
    if (thread.hasEnded()) throw createUnreachableError('open', thread.describeEnd());
    const timeoutMs = options.openTimeoutMs ?? 120_000;
    thread.open({ directory, socketPath });
    ready = await readReply(thread, { kind: 'ready', operation: 'open', timeoutMs });
  } catch (error) {
    await worker.terminate();
    cleanUp();
    throw error;
  }
  worker.once('exit', cleanUp);
  return superviseThread(thread, createAdmittedPool(connect(socketPath, ready.port), 1), options);
};

const superviseThread = (thread: SqlThread, pool: Pool, options: EmbeddedOptions) => {
  const { worker } = thread;
  const ended = new Promise<void>((fulfil) => worker.once('exit', () => fulfil()));
  let diskFull = false;
  let closing: Promise<void> | null = null;
  const send = (request: WorkerRequest): void => worker.postMessage(request);
  /** Does nothing during a close, which takes its own checkpoint and ends the connection. */
  const takeCheckpoint = (): void => {
    if (closing) return;
    pool.sql`checkpoint`.catch((error: unknown) => {
      if (!closing) options.onWarning?.('a checkpoint failed', error);
    });
  };
  worker.on('message', (message: WorkerReply) => {
    if (message.kind === 'checkpoint_due') takeCheckpoint();
    if (message.kind !== 'disk_full') return;
    diskFull = message.full;
    if (diskFull) options.onDiskFull?.(createFullError());
  });
  void ended.then(() => {
    if (!closing) options.onCrash?.(createUnreachableError('run', thread.describeEnd()));
  });
  const close = async (): Promise<void> => {
    await pool.sql.end({ timeout: 5 });
    // A thread that waits for room reads no message.
    if (diskFull) void worker.terminate();
    send({ kind: 'close' });
    // A backend that lost track of the protocol loops for ever and reads no message.
    const timer = setTimeout(() => void worker.terminate(), closeTimeoutMs);
    await ended;
    clearTimeout(timer);
  };
  return {
    ...pool,
    /** Packs the folder into a new file while no statement runs. Not durable: the caller syncs the file. */
    async packInto(file: string): Promise<PackContents> {
      if (thread.hasEnded()) throw createUnreachableError('copy', thread.describeEnd());
      const copied = readReply(thread, { kind: 'copied', operation: 'copy', timeoutMs: 600_000 });
      send({ kind: 'copy', into: file });
      return (await copied).contents;
    },
    /** Whether all statements wait for room on the disk. */
    isDiskFull: () => diskFull,
    /** Ends the connection, then the database, which writes its last checkpoint. Idempotent. */
    close(): Promise<void> {
      closing ??= close();
      return closing;
    },
  };
};
