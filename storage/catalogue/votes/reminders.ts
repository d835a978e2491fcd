/**
 * Reminders as users set them, and the reads and updates of the job that watches them.
 *
 * A reminder belongs to one listing and is deleted with it. A due reminder is updated only if its due time is
 * still the one that was read, so one of several nodes decides, and a vote that arrives meanwhile makes it
 * due again. All times come from the caller, in ms.
 */
import type { EntityKind, Target } from '../../../engine/ids.ts';
import { markDueByEdit } from '../../ledger/due-reminders.ts';
import { writeListingEvent } from '../../ledger/webhook-deliveries.ts';
import type { Queryable, Sql } from '../../sql/client.ts';
import { bindStorage } from '../../sql/errors.ts';
import { hasRow } from '../../sql/rows.ts';
import { lockOwner } from '../shared/listings.ts';
import { buildListingNames } from '../shared/people.ts';

export interface ReminderRow {
  readonly user_id: string;
  readonly target_type: EntityKind;
  readonly target_id: string;
  readonly created_at: Date;
  readonly last_acked: Date | null;
  readonly name: string;
  readonly avatar: string;
}
export interface ReminderKey extends Target {
  readonly userId: string;
}
/** The initial values of a reminder. */
export interface ReminderStart {
  readonly nowMs: number;
  /** The vote whose waiting time the user waits for, 0 for none. */
  readonly votedAtMs: number;
  /** When the job checks it for the first time. */
  readonly dueAtMs: number;
  /** Limit of reminders of one user. */
  readonly max: number;
}
export type ReminderOutcome = 'set' | 'not_found' | 'limit_reached';

/** A reminder that the job must check now. */
export interface DueReminder extends ReminderKey {
  readonly incarnation: number;
  /** The newest vote that the reminder has recorded, 0 for none. */
  readonly votedAtMs: number;
  readonly dueAtMs: number;
  /** The user is not banned, from voting or altogether. */
  readonly welcome: boolean;
}
/**
 * The result of a check: the wait lasts until `dueAtMs` (`later`); it is over, and a message is sent
 * (`over`); or there is nothing to wait for (`idle`).
 */
export type ReminderUpdate =
  | { readonly kind: 'later'; readonly votedAtMs: number; readonly dueAtMs: number }
  | { readonly kind: 'over'; readonly nowMs: number }
  | { readonly kind: 'idle' };

/** Every change is ledger when it resolves. */
export const createReminders = (sql: Sql) =>
  bindStorage('reminders', sql, {
    list: listReminders,
    set: setReminder,
    remove: removeReminder,
    markDue: markDueByEdit,
    listDue: selectDue,
    recordCheck: updateReminder,
  });

export type Reminders = ReturnType<typeof createReminders>;

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
    const [existing] = await transaction<{ count: number; present: boolean }[]>`
      select count(*) as count, coalesce(bool_or(incarnation = ${listing.incarnation}), false) as present
      from reminders where user_id = ${userId}`;
    if (existing?.present) return 'set';
    if ((existing?.count ?? 0) >= max) return 'limit_reached';
    await transaction`
      insert into reminders (incarnation, user_id, created_at, voted_at_ms, due_at_ms)
      values (${listing.incarnation}, ${userId}, ${new Date(nowMs)}, ${votedAtMs}, ${dueAtMs})`;
    return 'set';
  });

const removeReminder = (sql: Queryable, { userId, kind, id }: ReminderKey): Promise<boolean> =>
  hasRow(sql`
    delete from reminders using totals
    where totals.incarnation = reminders.incarnation and totals.kind = ${kind}
      and totals.entity_id = ${id} and reminders.user_id = ${userId}
    returning reminders.user_id`);

const selectDue = (sql: Queryable, nowMs: number, limit: number): Promise<readonly DueReminder[]> =>
  sql<DueReminder[]>`
    select reminders.incarnation, totals.kind, totals.entity_id as id, reminders.user_id as "userId",
      reminders.voted_at_ms as "votedAtMs", reminders.due_at_ms as "dueAtMs",
      not (users.banned or users.vote_banned) as welcome
    from reminders
    join totals on totals.incarnation = reminders.incarnation
    join users on users.id = reminders.user_id
    where reminders.due_at_ms <= ${nowMs} order by reminders.due_at_ms limit ${limit}`;

/** Builds the condition that finds the reminder unless its due time has changed since it was read. */
const buildUnchangedCondition = (sql: Queryable, due: DueReminder) => sql`
  reminders.incarnation = ${due.incarnation} and reminders.user_id = ${due.userId}
  and reminders.due_at_ms = ${due.dueAtMs}`;

const updateReminder = async (sql: Sql, due: DueReminder, verdict: ReminderUpdate): Promise<boolean> => {
  if (verdict.kind === 'over') return enqueueMessages(sql, due, verdict.nowMs);
  const { dueAtMs, votedAtMs } = verdict.kind === 'later' ? verdict : { dueAtMs: null, votedAtMs: 0 };
  return hasRow(sql`
    update reminders set due_at_ms = ${dueAtMs}, voted_at_ms = greatest(voted_at_ms, ${votedAtMs}::bigint)
    where ${buildUnchangedCondition(sql, due)} returning user_id`);
};

/** Ends the wait, queues a message to each browser and an event for webhooks: once per wait. */
const enqueueMessages = (sql: Sql, due: DueReminder, nowMs: number): Promise<boolean> =>
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
    const { incarnation, userId: user } = due;
    await writeListingEvent(transaction, { type: 'vote.ready', incarnation, details: { user } });
    return true;
  });
