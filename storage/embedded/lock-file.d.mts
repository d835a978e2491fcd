/**
 * The types of lock-file.mjs.
 */
export interface LockOwner {
  readonly pid: number;
  readonly host: string;
}

export interface FileLock {
  /** Removes the file. Idempotent. */
  release(): void;
}

/**
 * Takes the lock; `null` if another process has it: at once for an owner on this machine, within 10 s for
 * others. Calls `onLost` within 2 s when the folder was deleted, or another process has taken the lock over.
 */
export const takeLock: (path: string, onLost?: () => void) => Promise<FileLock | null>;
/** `null` if there is no owner, or none that can be read. */
export const readOwner: (path: string) => LockOwner | null;
/** The content of this process' lock file. Two processes never have the same. */
export const describeOwner: () => string;
export const readText: (path: string) => string;
/** The id of this run of the operating system; `''` where the system has none. */
export const readBootId: () => string;
