/**
 * Detects statements that fail because SQL met damaged files, and describes it.
 *
 * Passes statements through unchanged. Damage of the embedded database lasts, so it stays reported; a server
 * may be repaired while nodes run, so there a report expires.
 */
import { StorageError } from '../../engine/errors.ts';
import { isLastingDamage, toStorageError } from './errors.ts';

const rememberMs = 600_000;

export interface DamageParts {
  /** Damage of files stays reported: nothing repairs them while this process runs. Default: no. */
  readonly lasts?: boolean;
  /** A cause outside of SQL that looks like damage, as advice for the operator; `''` for none. */
  readonly findOtherCause?: () => string;
}

interface DamageRecord {
  description: string;
  lasting: boolean;
  atMs: number;
}

/** Records damage. Returns the failure to reject with: the error, or another one for another cause. */
const recordDamage = (met: DamageRecord, error: unknown, parts: DamageParts): unknown => {
  const failure = toStorageError('sql', error);
  if (failure.reason !== 'damaged') return error;
  const otherCause = parts.findOtherCause?.() ?? '';
  if (otherCause !== '') {
    const { outcome, message } = failure;
    const detail = `${otherCause} (${message})`;
    return new StorageError('sql', { outcome, reason: 'busy', cause: error, detail });
  }
  const nowMs = performance.now();
  const lasting = parts.lasts === true && isLastingDamage(failure);
  met.atMs = nowMs;
  // A passing fault does not hide lasting damage.
  if (lasting || !met.lasting)
    met.description = failure.cause instanceof Error ? describeError(failure.cause) : '';
  met.lasting ||= lasting;
  return error;
};

const describeError = (error: Error): string =>
  'code' in error && typeof error.code === 'string' ? `${error.code}: ${error.message}` : error.message;

export const watchDamage = (parts: DamageParts = {}) => {
  const met: DamageRecord = { description: '', lasting: false, atMs: 0 };
  return {
    /** Runs the work and settles as it does. */
    run: async <Result>(work: () => PromiseLike<Result>) => {
      try {
        return await work();
      } catch (error) {
        throw recordDamage(met, error, parts);
      }
    },
    /** Describes the damage met; `''` for none. */
    met: () => (met.lasting || performance.now() - met.atMs < rememberMs ? met.description : ''),
  };
};
