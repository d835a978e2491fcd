/**
 * Notices that SQL met damaged files, whatever was asked of it: says so to the log, at most once a minute,
 * and to every caller that wants to know.
 *
 * It passes statements on and changes nothing of them. Damage does not go away by itself, so on the embedded
 * database what was met stays; a server may be repaired while nodes run, so there it is forgotten after a
 * while. Called by storage/embedded/open.ts and server.ts.
 */
import { isLastingDamage, toStorageError } from './errors.ts';

const reportEveryMs = 60_000;
const rememberMs = 600_000;

export interface DamageParts {
  /** Called at the first damage and then at most once a minute while more is met. */
  readonly report: (met: string, error: unknown) => void;
  /** Damage of files was met for the first time, and whoever opens them next must know. */
  readonly onLasting?: (met: string) => void;
  /** Met by a process before this one. Default: none. */
  readonly known?: string;
}

export interface DamageWatch {
  /** Runs the work and settles as it does. */
  run<Result>(work: () => PromiseLike<Result>): Promise<Result>;
  /** What was met, `''` for nothing. */
  met(): string;
  /** Whether it was met in files that stay as they are. */
  isLasting(): boolean;
}

interface Met {
  words: string;
  lasting: boolean;
  atMs: number;
  reportedMs: number;
}

const note = (met: Met, error: unknown, parts: DamageParts): void => {
  const failure = toStorageError('sql', error);
  if (failure.reason !== 'damaged') return;
  const nowMs = performance.now();
  const lasting = parts.onLasting !== undefined && isLastingDamage(failure);
  met.atMs = nowMs;
  // What lasts is not hidden by what may pass.
  if (lasting || !met.lasting) met.words = failure.cause instanceof Error ? wordsOf(failure.cause) : '';
  if (lasting && !met.lasting) {
    met.lasting = true;
    parts.onLasting?.(met.words);
  }
  if (nowMs - met.reportedMs < reportEveryMs) return;
  met.reportedMs = nowMs;
  parts.report(met.words, error);
};

const wordsOf = (error: Error): string =>
  'code' in error && typeof error.code === 'string' ? `${error.code}: ${error.message}` : error.message;

export const watchDamage = (parts: DamageParts): DamageWatch => {
  const known = parts.known ?? '';
  const met: Met = { words: known, lasting: known !== '', atMs: 0, reportedMs: -reportEveryMs };
  return {
    run: async (work) => {
      try {
        return await work();
      } catch (error) {
        note(met, error, parts);
        throw error;
      }
    },
    met: () => (met.lasting || performance.now() - met.atMs < rememberMs ? met.words : ''),
    isLasting: () => met.lasting,
  };
};
