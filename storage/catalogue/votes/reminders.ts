/**
 * Reminders as users set them, and what the job that watches them reads and settles.
 *
 * A reminder hangs on one listing: it is deleted with it, whoever deletes. A look at a due one is settled
 * only if the due time is still the one that was read, so that of several nodes one decides, and a vote
 * that came meanwhile is looked at again. Times are the caller's, in ms. Called by catalogue.ts; a vote
 * makes a reminder due in storage/ledger/due-reminders.ts.
 */
import type { EntityKind } from '../../../engine/ids.ts';
import { markDueByEdit } from '../../ledger/due-reminders.ts';
import type { Queryable, Sql } from '../../sql/client.ts';
import { asStorage } from '../../sql/errors.ts';
import { lockOwner } from '../shared/listings.ts';

export interface ReminderRow {
  readonly user_id: string;
  readonly target_type: EntityKind;
  readonly target_id: string;
  readonly created_at: Date;
  readonly last_acked: Date | null;
  readonly name: string;
  readonly avatar: string;
}
export interface ReminderKey {
  readonly userId: string;
  readonly kind: EntityKind;
  readonly id: string;
}
/** What a reminder begins with. */
export interface ReminderStart {
  readonly nowMs: number;
  /** The vote its user waits for the end of, 0 for none. */
  readonly votedAtMs: number;
  /** When to look for the first time. */
  readonly dueAtMs: number;
  /** Reminders of one user. */
  readonly max: number;
}
export type ReminderOutcome = 'set' | 'not_found' | 'limit_reached';

/** A reminder to be looked at now. */
export interface DueReminder {
  readonly incarnation: number;
  readonly kind: EntityKind;
  readonly id: string;
  readonly userId: string;
  /** The newest vote known of here, 0 for none. */
  readonly votedAtMs: number;
  readonly dueAtMs: number;
  /** The user may vote at all. */
  readonly welcome: boolean;
}
/**
 * What a look found: the wait goes on until `dueAtMs`; or it is over, and a message goes out; or there is
 * nothing to wait for.
 */
export type ReminderUpdate =
  | { readonly kind: 'later'; readonly votedAtMs: number; readonly dueAtMs: number }
  | { readonly kind: 'over'; readonly nowMs: number }
  | { readonly kind: 'idle' };

export interface Reminders {
  list(userId: string): Promise<readonly ReminderRow[]>;
  /** Setting one again changes nothing. Resolves when it is in SQL. */
  set(key: ReminderKey, start: ReminderStart): Promise<ReminderOutcome>;
  /** False when there was none. */
  remove(key: ReminderKey): Promise<boolean>;
  /**
   * After an edit that may shorten waits has reached the engine: all who wait for this are looked at again.
   */
  lookAgain(kind: EntityKind, id: string): Promise<void>;
  /** Those due, longest first. */
  listDue(nowMs: number, limit: number): Promise<readonly DueReminder[]>;
  /** Records what a look found, with the messages that follow. False when somebody was faster. */
  recordVerdict(due: DueReminder, verdict: ReminderUpdate): Promise<boolean>;
}

export const createReminders = (sql: Sql): Reminders => ({
  list: (userId) => asStorage('reminders.list', () => listReminders(sql, userId)),
  set: (key, start) => asStorage('reminders.set', () => setReminder(sql, key, start)),
  remove: (key) => asStorage('reminders.remove', () => removeReminder(sql, key)),
  lookAgain: (kind, id) => asStorage('reminders.lookAgain', () => markDueByEdit(sql, { kind, id })),
  listDue: (nowMs, limit) => asStorage('reminders.due', () => selectDue(sql, nowMs, limit)),
  recordVerdict: (due, verdict) => asStorage('reminders.settle', () => updateReminder(sql, due, verdict)),
});

/** Joins the name and picture of the listing `totals`, whatever its kind. */
export const buildListingNames = (sql: Queryable) => sql`
  left join lateral (
    select coalesce(users.username, totals.entity_id) as name, coalesce(users.avatar, '') as avatar
      from (select) as one left join users on users.id = totals.entity_id where totals.kind = 'bot'
    union all
    select name, avatar from servers where totals.kind = 'server' and server_id = totals.entity_id
    union all
    select name, '' from teams where totals.kind = 'team' and id = totals.entity_id
    union all
    select name, '' from packs where totals.kind = 'pack' and url = totals.entity_id
  ) as named on true`;

const listReminders = (sql: Queryable, userId: string) => sql<ReminderRow[]>`
  select reminders.user_id, totals.kind as target_type, totals.entity_id as target_id, reminders.created_at,
    reminders.last_acked, coalesce(named.name, totals.entity_id) as name, coalesce(named.avatar, '') as avatar
  from reminders
  join totals on totals.incarnation = reminders.incarnation
  ${buildListingNames(sql)}
  where reminders.user_id = ${userId}
  order by reminders.created_at, totals.kind, totals.entity_id`;

const setReminder = (
  sql: Sql,
  { userId, kind, id }: ReminderKey,
  { nowMs, votedAtMs, dueAtMs, max }: ReminderStart,
): Promise<ReminderOutcome> =>
  sql.begin(async (transaction): Promise<ReminderOutcome> => {
    const [listing] = await transaction<{ incarnation: number }[]>`
      select incarnation from totals where kind = ${kind} and entity_id = ${id} for key share`;
    if (listing === undefined) return 'not_found';
    await lockOwner(transaction, 'reminders', userId);
    const [held] = await transaction<{ count: number; present: boolean }[]>`
      select count(*) as count, coalesce(bool_or(incarnation = ${listing.incarnation}), false) as present
      from reminders where user_id = ${userId}`;
    if (held?.present) return 'set';
    if ((held?.count ?? 0) >= max) return 'limit_reached';
    await transaction`
      insert into reminders (incarnation, user_id, created_at, voted_at_ms, due_at_ms)
      values (${listing.incarnation}, ${userId}, ${new Date(nowMs)}, ${votedAtMs}, ${dueAtMs})`;
    return 'set';
  });

const removeReminder = async (sql: Queryable, { userId, kind, id }: ReminderKey): Promise<boolean> => {
  const rows = await sql`
    delete from reminders using totals
    where totals.incarnation = reminders.incarnation and totals.kind = ${kind}
      and totals.entity_id = ${id} and reminders.user_id = ${userId}
    returning reminders.user_id`;
  return rows.length > 0;
};

interface DueRow {
  readonly incarnation: number;
  readonly kind: EntityKind;
  readonly id: string;
  readonly user_id: string;
  readonly voted_at_ms: number;
  readonly due_at_ms: number;
  readonly welcome: boolean;
}

const selectDue = async (sql: Queryable, nowMs: number, limit: number): Promise<readonly DueReminder[]> => {
  const rows = await sql<DueRow[]>`
    select reminders.incarnation, totals.kind, totals.entity_id as id, reminders.user_id,
      reminders.voted_at_ms, reminders.due_at_ms,
      not (users.banned or users.vote_banned) as welcome
    from reminders
    join totals on totals.incarnation = reminders.incarnation
    join users on users.id = reminders.user_id
    where reminders.due_at_ms <= ${nowMs} order by reminders.due_at_ms limit ${limit}`;
  return rows.map((row) => ({
    incarnation: row.incarnation,
    kind: row.kind,
    id: row.id,
    userId: row.user_id,
    votedAtMs: row.voted_at_ms,
    dueAtMs: row.due_at_ms,
    welcome: row.welcome,
  }));
};

/** The reminder, unless it was settled or made due anew since it was read. */
const buildUnchangedCondition = (sql: Queryable, due: DueReminder) => sql`
  reminders.incarnation = ${due.incarnation} and reminders.user_id = ${due.userId}
  and reminders.due_at_ms = ${due.dueAtMs}`;

const updateReminder = async (sql: Sql, due: DueReminder, verdict: ReminderUpdate): Promise<boolean> => {
  if (verdict.kind === 'over') return sendToAll(sql, due, verdict.nowMs);
  const dueAtMs = verdict.kind === 'later' ? verdict.dueAtMs : null;
  const votedAtMs = verdict.kind === 'later' ? verdict.votedAtMs : 0;
  const rows = await sql`
    update reminders set due_at_ms = ${dueAtMs}, voted_at_ms = greatest(voted_at_ms, ${votedAtMs}::bigint)
    where ${buildUnchangedCondition(sql, due)} returning user_id`;
  return rows.length > 0;
};

/** The window is over and its messages wait to be sent, in one transaction: one message per window. */
const sendToAll = (sql: Sql, due: DueReminder, nowMs: number): Promise<boolean> =>
  sql.begin(async (transaction) => {
    const rows = await transaction`
      update reminders set due_at_ms = null
      where ${buildUnchangedCondition(transaction, due)} returning user_id`;
    if (rows.length === 0) return false;
    await transaction`
      insert into push_messages (subscription_id, incarnation, user_id, next_at_ms)
      select id, ${due.incarnation}, user_id, ${nowMs} from push_subscriptions
      where user_id = ${due.userId} order by id
      on conflict (subscription_id, incarnation) do update
        set attempts = 0, next_at_ms = excluded.next_at_ms`;
    return true;
  });
