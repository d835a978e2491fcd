/**
 * Does a creation once per idempotency key, however often it is requested within a day.
 *
 * The key and what the work led to are written in the transaction of the work: a crash leaves both or
 * neither, so no key stays "in progress" for ever. A concurrent repeat waits for the lock on the
 * key, and then finds the result. A failure is not stored: a repeat does the work.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { limits } from '../../../engine/limits.ts';
import type { Sql, Transaction } from '../../sql/client.ts';
import { asStorage } from '../../sql/errors.ts';
import { readFirst, readFlag, readNumber } from '../../sql/rows.ts';

/** A request with an idempotency key. */
export interface Once {
  /** SHA-256 of the caller, the operation and the key. */
  readonly scope: Buffer;
  /** Kind and id, for the cap on keys. */
  readonly caller: string;
  /** SHA-256 of the request. */
  readonly fingerprint: Buffer;
}

/**
 * `key_mismatch`: the key belongs to another request; `key_in_use`: the same one is being worked on;
 * `keys_full`: the caller has `limits.idempotencyKeysMax` keys.
 */
export interface KeyRefusal {
  readonly kind: 'key_mismatch' | 'key_in_use' | 'keys_full';
}

/** `replayed`: an earlier request did the work, and this is its result. */
export type OnceResult<Result> = (Result & { readonly replayed?: true }) | KeyRefusal;

const keptHours = 24;
const lockAttemptsMax = 50;
const lockPauseMs = 20;

/** Waits a second at most for another transaction with this key. */
const lockKey = async (transaction: Transaction, { scope }: Once): Promise<boolean> => {
  for (let attempt = 1; attempt <= lockAttemptsMax; attempt++) {
    if (attempt > 1) await pause(lockPauseMs);
    const isLocked = await readFlag(transaction`
      select pg_try_advisory_xact_lock(hashtextextended(${scope.toString('hex')}, 0))`);
    if (isLocked) return true;
  }
  return false;
};

interface KeyRow {
  readonly fingerprint: Uint8Array;
  readonly result: object;
}

const readKey = (transaction: Transaction, { scope }: Once): Promise<KeyRow | null> =>
  readFirst(transaction<KeyRow[]>`
    select fingerprint, result from idempotency_keys
    where scope = ${scope} and created_at > now() - make_interval(hours => ${keptHours})`);

const countKeys = (transaction: Transaction, { caller }: Once): Promise<number> =>
  readNumber(transaction`
    select count(*) as keys from (
      select from idempotency_keys
      where caller = ${caller} and created_at > now() - make_interval(hours => ${keptHours})
      limit ${limits.idempotencyKeysMax}) as live`);

const toJson = (result: object): string =>
  JSON.stringify(result, (_, value) => (typeof value === 'bigint' ? String(value) : value));

/**
 * Does `work` in the transaction unless a request with this key has done it; `isDone` says whether to store
 * its result. Without a key it is always done. A `bigint` of a stored result comes back as text.
 */
export const runOnce = async <Result extends object>(
  transaction: Transaction,
  once: Once | undefined,
  { work, isDone }: { readonly work: () => Promise<Result>; readonly isDone: (result: Result) => boolean },
): Promise<OnceResult<Result>> => {
  if (once === undefined) return work();
  if (!(await lockKey(transaction, once))) return { kind: 'key_in_use' };
  const existing = await readKey(transaction, once);
  if (existing !== null)
    return once.fingerprint.equals(existing.fingerprint)
      ? { ...(existing.result as Result), replayed: true }
      : { kind: 'key_mismatch' };
  if ((await countKeys(transaction, once)) >= limits.idempotencyKeysMax) return { kind: 'keys_full' };
  const result = await work();
  if (!isDone(result)) return result;
  await transaction`
    insert into idempotency_keys (scope, caller, fingerprint, result)
    values (${once.scope}, ${once.caller}, ${once.fingerprint}, ${toJson(result)}::text::jsonb)
    on conflict (scope) do update set fingerprint = excluded.fingerprint, result = excluded.result,
      created_at = excluded.created_at`;
  return result;
};

/** Deletes the keys that are older than a day. */
export const purgeKeys = (sql: Sql): Promise<void> =>
  asStorage('once.purge', async () => {
    await sql`
      delete from idempotency_keys where created_at <= now() - make_interval(hours => ${keptHours})`;
  });
