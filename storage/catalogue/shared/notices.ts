/**
 * Tells the caches of a node which profiles and sessions have changed in SQL.
 *
 * Triggers write the notices in the transaction of the change (migration 027). A reading returns those that
 * the reading before could not see, by its snapshot, so it misses none, whatever the order of commits; a
 * message of another node only makes a change known sooner. There is no timer: a use of a cache starts a
 * reading when the last is older than `readEveryMs`, and waits for it when that is older than `currentMs`.
 * So an idle node reads nothing, and no user of a cache is more than a second behind.
 *
 * A cached entry is covered by the notices if its statement began after the first reading had ended. When
 * SQL was restarted or replaced by a copy that lost transactions, when notices may have been purged unread or
 * are too many, cover begins again: whatever was cached before is read again. While SQL does not answer, the
 * caches trust their entries only as long as they would without notices.
 */
import type { Queryable } from '../../sql/client.ts';
import { asStorage } from '../../sql/errors.ts';
import { endWithin } from '../../timers.ts';

/** What changed; for a session, `id` is the SHA-256 of its token in hexadecimal. */
export interface Notice {
  readonly kind: 'bot' | 'server' | 'team' | 'session';
  readonly id: string;
}

/** The age of the last reading from which a use starts the next one, ms. */
const readEveryMs = 750;
export const currentMs = 1_000;
const ageMaxMs = 600_000;
/** Pause after a reading that failed, ms. */
const retryPauseMs = 250;
/** How long a user of a cache waits for a reading before it does without, ms. */
const patienceMs = 200;
/** More notices than this at a time: cover begins again instead. */
const noticesMax = 5_000;
/** Notices are deleted after this time: much longer than any entry is used. */
const retentionMs = 3_600_000;

interface NoticesState {
  readonly sql: Queryable;
  readonly monotonicMs: () => number;
  readonly listeners: ((notice: Notice) => void)[];
  /** The snapshot of the last reading; `null` before the first. */
  snapshot: string | null;
  /** When the server of the last reading was started. */
  server: string;
  /** When the last reading began. */
  readMs: number;
  /** When a reading last failed. */
  failedMs: number;
  /** Entries whose statement began later are covered. */
  coveredFromMs: number;
  reading: Promise<boolean> | null;
}

interface NoticeRow {
  readonly snapshot: string;
  readonly server: string;
  readonly kind: Notice['kind'] | null;
  readonly id: string;
}

/** Parameters in subqueries have the same estimate whatever their value, so this is planned once. */
const readRows = (sql: Queryable, since: string): Promise<readonly NoticeRow[]> =>
  asStorage(
    'notices.read',
    () => sql<NoticeRow[]>`
      select pg_current_snapshot()::text as snapshot, pg_postmaster_start_time()::text as server, kind, id
      from (select) as once left join lateral (
        select kind, id from notices
        where xid >= (select pg_snapshot_xmin(${since}::pg_snapshot))
          and not pg_visible_in_snapshot(xid, ${since}::pg_snapshot)
        order by xid limit ${noticesMax + 1}) as unseen on true`,
  );

/** For the first reading, which returns no notices: every transaction is visible in it. */
const lastSnapshot = '9223372036854775807:9223372036854775807:';

/** Reads from a snapshot the first transaction that it cannot see. */
const parseXmax = (snapshot: string | null): bigint => BigInt(snapshot?.split(':')[1] ?? '0');

/** Whether transactions that the last reading could see may be missing now, or notices were purged unread. */
const isInterrupted = (state: NoticesState, { snapshot, server }: NoticeRow, startedMs: number): boolean =>
  server !== state.server ||
  parseXmax(snapshot) < parseXmax(state.snapshot) ||
  startedMs - state.readMs > retentionMs / 2;

const read = async (state: NoticesState): Promise<boolean> => {
  const startedMs = state.monotonicMs();
  const rows = await readRows(state.sql, state.snapshot ?? lastSnapshot);
  const [head] = rows;
  if (head === undefined) return false;
  for (const { kind, id } of rows) {
    if (kind !== null) for (const listener of state.listeners) listener({ kind, id });
  }
  if (rows.length > noticesMax || isInterrupted(state, head, startedMs)) {
    state.coveredFromMs = state.monotonicMs();
  }
  state.snapshot = head.snapshot;
  state.server = head.server;
  state.readMs = startedMs;
  return true;
};

/** Starts a reading unless one is under way, or has just failed. Resolves to whether it succeeded. */
const startReading = (state: NoticesState): Promise<boolean> => {
  if (state.reading === null && state.monotonicMs() - state.failedMs < retryPauseMs)
    return Promise.resolve(false);
  state.reading ??= read(state)
    .catch(() => {
      state.failedMs = state.monotonicMs();
      return false;
    })
    .finally(() => {
      state.reading = null;
    });
  return state.reading;
};

/** Creates the notices of one process. Reads nothing until a cache is used. */
export const createNotices = (sql: Queryable, monotonicMs = () => performance.now()) => {
  const state: NoticesState = {
    sql,
    monotonicMs,
    listeners: [],
    snapshot: null,
    server: '',
    readMs: Number.NEGATIVE_INFINITY,
    failedMs: Number.NEGATIVE_INFINITY,
    coveredFromMs: Number.POSITIVE_INFINITY,
    reading: null,
  };
  return {
    /** An entry is used without waiting if all changes until this long ago are known, ms. */
    currentMs,
    /** Covered entries are used at most this long, in case that a trigger was disabled, ms. */
    ageMaxMs,
    /**
     * Monotonic time, ms: all changes committed before it are known, for an entry whose statement began at
     * `sinceMs`. Minus infinity if the notices do not cover it. Starts a reading when one is due.
     */
    lastReadMs: (sinceMs: number, nowMs: number) => {
      if (nowMs - state.readMs >= readEveryMs) void startReading(state);
      return sinceMs >= state.coveredFromMs ? state.readMs : Number.NEGATIVE_INFINITY;
    },
    /** Whether a statement that begins now is covered. */
    isCovering: () => state.snapshot !== null,
    /** Waits for the next reading. False when SQL does not answer within `patienceMs`. Never rejects. */
    update: () => endWithin(startReading(state), patienceMs).catch(() => false),
    /** Adds a listener, called before the reading counts. */
    subscribe: (listener: (notice: Notice) => void) => void state.listeners.push(listener),
  };
};
export type Notices = ReturnType<typeof createNotices>;

/** Deletes the notices that are older than an hour, in one statement. */
export const purgeNotices = (sql: Queryable): Promise<unknown> =>
  asStorage(
    'notices.purge',
    () => sql`delete from notices where at < now() - make_interval(secs => ${retentionMs / 1_000})`,
  );
