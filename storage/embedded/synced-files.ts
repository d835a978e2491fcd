/**
 * Makes the embedded Postgres durable: gives its files the sync that PGlite's file system lacks.
 *
 * Postgres syncs its log before it answers a commit; here that sync reaches the disk, and so do all names
 * that were created, renamed or removed before it. It also syncs some dozen files before a checkpoint counts.
 * Each would hold up all statements, so these syncs are *owed*: they run in the background, and only then is
 * the control file written, which makes the checkpoint count. Until then a crash is recovered from the
 * checkpoint before, whose log stays. A failed sync ends the thread, because what is on disk is unknown
 * after it. A lack of file descriptors is no such failure: folders stay open, and what is owed waits. Nor is
 * a full disk: the log waits for room.
 */
import {
  closeSync,
  fdatasyncSync,
  fstatSync,
  fsyncSync,
  openSync,
  readdirSync,
  statSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { NodeFS } from '@electric-sql/pglite/nodefs';
import { openWhenPossible } from './background-syncs.ts';

interface FileNode {
  readonly name: string;
  readonly mode: number;
  readonly parent: FileNode;
}
interface Stream {
  readonly nfd: number;
  readonly node: FileNode;
}
/** The parts of emscripten's NODEFS that are wrapped here. */
interface Nodefs {
  realPath(node: FileNode): string;
  readonly node_ops: {
    mknod(parent: FileNode, name: string, mode: number, device: number): FileNode;
    rename(node: FileNode, parent: FileNode, name: string): void;
    unlink(parent: FileNode, name: string): void;
    rmdir(parent: FileNode, name: string): void;
    setattr(node: FileNode, attributes: { readonly mode?: number }): void;
  };
  readonly stream_ops: {
    write(stream: Stream, bytes: Uint8Array, offset: number, length: number, position: number): number;
    fsync?: (stream: Stream) => number;
  };
}
interface Module {
  readonly FS: {
    readonly filesystems: { readonly NODEFS: Nodefs };
    readonly ErrnoError: new (code: number) => Error;
  };
}

export interface SyncedFilesOptions {
  /** Syncs files, also while a statement blocks this thread: background-syncs.ts, on another one. */
  readonly syncFiles: (paths: readonly string[]) => Promise<void>;
  /** A file could not be synced, or Postgres gave up: ends the thread. */
  readonly onFailure: (error: unknown) => never;
  /** Called when the log has to wait for room on the disk, and when it goes on. */
  readonly onDiskFull: (full: boolean) => void;
  /** Called when so much log was written that a checkpoint is due, and the one before counts. */
  readonly onCheckpointDue: () => void;
}

export type SyncedFiles = ReturnType<typeof createSyncedFiles>;

/**
 * More log between checkpoints makes a start after a crash longer: 48 MiB take it 0.3 s. Less makes more
 * writes: after each checkpoint the first change of a page writes the whole page to the log.
 */
const checkpointBytes = 48 * 1024 * 1024;
const checkpointEveryMs = 600_000;
const logPageBytes = 8_192;
/** Its modification time is the beginning of the last completed opening: older files are on disk. */
const markerName = 'rollcall.opened';
/** The times of files are coarser than the clock. */
const slackMs = 1_000;
/** Its files never outlive a crash. */
const temporaryFolder = 'pgsql_tmp';
/** EBUSY and ENOSPC in emscripten. */
const busyCode = 10;
const fullCode = 51;
const roomWaitMs = 100;

const gaveUp = 'Postgres gave up (PANIC), as it does when a file of its log cannot be written';

interface PendingControl {
  readonly bytes: Buffer;
  /** Segments that Postgres would remove now; the checkpoint on disk may still need them. */
  readonly refused: Set<string>;
}

const isLogSegment = (parent: FileNode, name: string): boolean =>
  parent.name === 'pg_wal' && /^[0-9A-F]{24}$/.test(name);
const isControl = ({ name, parent }: FileNode): boolean => name === 'pg_control' && parent.name === 'global';
const isFolder = ({ mode }: FileNode): boolean => (mode & 0o170000) === 0o040000;

/** Windows cannot sync folders and need not. */
const openFolders = (directory: string): Map<string, number> => {
  if (process.platform === 'win32') return new Map();
  const inside = readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isDirectory() && entry.name !== temporaryFolder)
    .map(({ parentPath, name }) => join(parentPath, name));
  return new Map([directory, ...inside].map((folder) => [folder, openSync(folder, 'r')]));
};

const createState = (directory: string, options: SyncedFilesOptions) => {
  const marked = statSync(join(directory, markerName), { throwIfNoEntry: false });
  const markedMs = marked?.mtimeMs ?? Number.POSITIVE_INFINITY;
  const openedMs = Date.now();
  return {
    ...options,
    directory,
    openedMs,
    /**
     * Files that are older were synced by an earlier process. A mark of the future: the clock was set back,
     * so times tell nothing about what is on disk.
     */
    cleanBeforeMs: markedMs <= openedMs ? markedMs - slackMs : Number.NEGATIVE_INFINITY,
    opened: false,
    syncs: 0,
    /** Bytes of log since the last checkpoint was due, which was at `checkpointMs`, monotonic ms. */
    logBytes: 0,
    checkpointMs: performance.now(),
    /** Files of the log that were written since their last sync. */
    unsyncedLog: new Set<FileNode>(),
    /** Folders with names that are not on disk yet. */
    changedFolders: new Set<string>(),
    /** Descriptors of folders by path, because a commit cannot wait for one. */
    folders: openFolders(directory),
    /** Paths of what must be synced before the control file is written. */
    owed: new Set<string>(),
    /** The control file of the newest checkpoint, until it counts. */
    pending: null as PendingControl | null,
    /** Segments of the log that the checkpoint on disk does not need. */
    unneededLog: new Set<string>(),
    completed: Promise.resolve(),
  };
};
type SyncState = ReturnType<typeof createState>;

const syncFolder = (state: SyncState, folder: string): void => {
  const descriptor = state.folders.get(folder) ?? openSync(folder, 'r');
  state.folders.set(folder, descriptor);
  fsyncSync(descriptor);
};

const syncChangedFolders = (state: SyncState): void => {
  if (process.platform !== 'win32') for (const folder of state.changedFolders) syncFolder(state, folder);
  state.changedFolders.clear();
};

const forgetFolder = (state: SyncState, folder: string): void => {
  state.changedFolders.delete(folder);
  const descriptor = state.folders.get(folder);
  if (descriptor !== undefined) closeSync(descriptor);
  state.folders.delete(folder);
};

const noteChangedFolder = (state: SyncState, folder: string): void => {
  if (basename(folder) !== temporaryFolder) state.changedFolders.add(folder);
};

/**
 * Syncs the files that wait, then writes the delayed control file: also if a newer checkpoint began
 * meanwhile, because under heavy writing one always does, and the log would never be removed. The files of
 * the newer one wait for its turn.
 */
const completeCheckpoint = async (state: SyncState, control: PendingControl): Promise<void> => {
  if (state.pending !== control) return;
  const owed = [...state.owed];
  state.owed.clear();
  await state.syncFiles(owed);
  const descriptor = await openWhenPossible(join(state.directory, 'global', 'pg_control'));
  if (descriptor === null) throw new Error('the control file is missing');
  syncChangedFolders(state);
  writeSync(descriptor, control.bytes, 0, control.bytes.length, 0);
  fdatasyncSync(descriptor);
  closeSync(descriptor);
  state.unneededLog = control.refused;
  if (state.pending === control) state.pending = null;
};

/** Delays the control file until all files that it counts on are synced. */
const delayControl = (state: SyncState, bytes: Buffer): void => {
  const control = { bytes, refused: new Set<string>() };
  state.pending = control;
  // After a failure no later one is written, even if the thread goes on.
  state.completed = state.completed.then(() => completeCheckpoint(state, control)).catch(state.onFailure);
};

const syncLog = (state: SyncState, { nfd, node }: Stream): void => {
  // Postgres syncs a file of the log before it uses it again: that was synced long ago.
  if (state.opened && !state.unsyncedLog.delete(node)) return;
  fdatasyncSync(nfd);
  syncChangedFolders(state);
  state.syncs += 1;
};

const owe = (state: SyncState, stream: Stream, path: string): void => {
  // After a crash Postgres syncs every file there is.
  if (!state.opened && fstatSync(stream.nfd).mtimeMs < state.cleanBeforeMs) return;
  state.owed.add(path);
};

const sync = (state: SyncState, nodefs: Nodefs, stream: Stream): void => {
  const { node } = stream;
  if (isFolder(node)) noteChangedFolder(state, nodefs.realPath(node));
  else if (node.parent.name === 'pg_wal') syncLog(state, stream);
  else if (!isControl(node)) owe(state, stream, nodefs.realPath(node));
};

const countLogBytes = (state: SyncState, bytes: number): void => {
  state.logBytes += bytes;
  const nowMs = performance.now();
  const isDue = state.logBytes >= checkpointBytes || nowMs - state.checkpointMs >= checkpointEveryMs;
  if (!isDue || state.pending !== null) return;
  state.logBytes = 0;
  state.checkpointMs = nowMs;
  state.onCheckpointDue();
};

/**
 * Postgres fills a new file of its log by megabytes. Linux would cache it in units of that size, and count,
 * on some file systems also write, a whole unit for each commit.
 */
const writeInPages = (
  write: Nodefs['stream_ops']['write'],
  ...[stream, bytes, offset, length, position]: Parameters<Nodefs['stream_ops']['write']>
): number => {
  let done = 0;
  while (done < length) {
    const wantedBytes = Math.min(logPageBytes, length - done);
    const written = write(stream, bytes, offset + done, wantedBytes, position + done);
    done += written;
    if (written < wantedBytes) break;
  }
  return done;
};

/** Postgres may not fail to write its log, so on a full disk it would give up. Here it waits for room. */
const waitForRoom = (state: SyncState, write: Nodefs['stream_ops']['write']): typeof write => {
  const sleeper = new Int32Array(new SharedArrayBuffer(4));
  return (...args) => {
    for (let tries = 0; ; tries++) {
      try {
        const written = write(...args);
        if (tries > 0) state.onDiskFull(false);
        return written;
      } catch (error) {
        if ((error as { errno?: number }).errno !== fullCode) throw error;
        if (tries === 0) state.onDiskFull(true);
        Atomics.wait(sleeper, 0, 0, roomWaitMs);
      }
    }
  };
};

const wrapStreams = (state: SyncState, nodefs: Nodefs): void => {
  const { write } = nodefs.stream_ops;
  const writeLog = waitForRoom(state, write);
  nodefs.stream_ops.write = (stream, bytes, ...place) => {
    const { node } = stream;
    const [offset, length] = place;
    if (isControl(node)) {
      delayControl(state, Buffer.from(bytes.slice(offset, offset + length)));
      return length;
    }
    if (node.parent.name === 'pg_wal') state.unsyncedLog.add(node);
    if (isLogSegment(node.parent, node.name)) countLogBytes(state, length);
    return node.parent.name === 'pg_wal'
      ? writeInPages(writeLog, stream, bytes, ...place)
      : write(stream, bytes, ...place);
  };
  nodefs.stream_ops.fsync = (stream) => {
    try {
      sync(state, nodefs, stream);
      return 0;
    } catch (error) {
      return state.onFailure(error);
    }
  };
};

const wrapNames = (state: SyncState, { FS }: Module): void => {
  const nodefs = FS.filesystems.NODEFS;
  const { mknod, rename, unlink, rmdir, setattr } = nodefs.node_ops;
  const noteFolder = (folder: FileNode): void => noteChangedFolder(state, nodefs.realPath(folder));
  /** Postgres logs that it could not remove a file of the log, and tries again at the next checkpoint. */
  const assertUnneeded = (parent: FileNode, name: string): void => {
    if (state.pending === null || !isLogSegment(parent, name) || state.unneededLog.has(name)) return;
    state.pending.refused.add(name);
    throw new FS.ErrnoError(busyCode);
  };
  Object.assign(nodefs.node_ops, {
    mknod: (parent, ...rest) => {
      noteFolder(parent);
      return mknod(parent, ...rest);
    },
    rename: (node, parent, name) => {
      assertUnneeded(node.parent, node.name);
      noteFolder(node.parent);
      noteFolder(parent);
      rename(node, parent, name);
    },
    unlink: (parent, name) => {
      assertUnneeded(parent, name);
      noteFolder(parent);
      unlink(parent, name);
    },
    rmdir: (parent, name) => {
      noteFolder(parent);
      rmdir(parent, name);
      forgetFolder(state, join(nodefs.realPath(parent), name));
    },
    // Emscripten sets the mode of each file that it creates, whatever the umask: for the owner alone.
    setattr: (node, { mode, ...rest }) =>
      setattr(node, mode === undefined ? rest : { ...rest, mode: mode & ~0o077 }),
  } satisfies Nodefs['node_ops']);
};

/** Creates the synced files of the database in `directory`, which exists. */
export const createSyncedFiles = (directory: string, options: SyncedFilesOptions) => {
  const state = createState(directory, options);
  const fileSystem = new NodeFS(directory);
  const init = fileSystem.init.bind(fileSystem);
  fileSystem.init = async (database, given) => {
    const { emscriptenOpts } = await init(database, given);
    const wrap = (module: unknown): void => {
      wrapStreams(state, (module as Module).FS.filesystems.NODEFS);
      wrapNames(state, module as Module);
    };
    const preRun = [...(emscriptenOpts.preRun ?? []), wrap];
    // PGlite would go on, and loop for ever.
    const onAbort = (): never => options.onFailure(new Error(gaveUp));
    return { emscriptenOpts: { ...emscriptenOpts, preRun, onAbort } };
  };
  return {
    /** For `PGlite.create`. */
    fileSystem,
    /** Returns how many syncs of the log have reached the disk. */
    countSyncs: () => state.syncs,
    /** Resolves when no checkpoint waits to become durable. */
    awaitCheckpoint: async () => {
      while (state.pending !== null) await state.completed;
    },
    /** Records that all files of the opening are synced. Call once its checkpoint is durable. */
    markOpened: () => {
      const seconds = state.openedMs / 1_000;
      const marker = join(directory, markerName);
      writeFileSync(marker, '');
      utimesSync(marker, seconds, seconds);
      state.opened = true;
    },
  };
};
