/**
 * Makes reminders due when votes change how long their users have to wait.
 *
 * Only the engine knows how long a user has to wait, SQL does not. So a reminder becomes due at the vote
 * itself, and the reminder job then moves it to the end of the wait. That costs one look-up per vote with a
 * reminder, and nothing for other votes.
 */
import type { EntityKind } from '../../engine/ids.ts';
import type { OutboxVote } from '../../engine/ports.ts';
import { type Fragment, formatNumbers, formatTexts, type Queryable } from '../sql/client.ts';

/** Makes reminders due for votes that reach the ledger. A repeated flush makes none due again. */
export const markDueByVotes = async (sql: Queryable, votes: readonly OutboxVote[]): Promise<void> => {
  await sql`
    with voted as (
      select incarnation, user_id, max(at_ms) as at_ms
      from unnest(
        (select ${formatNumbers(votes.map(({ ref }) => ref.incarnation))}::bigint[]),
        (select ${formatTexts(votes.map(({ user }) => user))}::text[]),
        (select ${formatNumbers(votes.map(({ atMs }) => atMs))}::bigint[])
      ) as new (incarnation, user_id, at_ms)
      group by incarnation, user_id
    ), locked as (
      select reminders.incarnation, reminders.user_id, voted.at_ms
      from voted join reminders using (incarnation, user_id)
      where reminders.voted_at_ms < voted.at_ms
      order by reminders.incarnation, reminders.user_id for no key update of reminders
    )
    update reminders set voted_at_ms = locked.at_ms, due_at_ms = locked.at_ms
    from locked
    where reminders.incarnation = locked.incarnation and reminders.user_id = locked.user_id`;
};

/** Makes the waiting reminders due that a join and a condition select. */
const markDue = (sql: Queryable, selection: Fragment): Promise<unknown> => sql`
  with locked as (
    select reminders.incarnation, reminders.user_id from reminders ${selection}
      and reminders.due_at_ms is not null
    order by reminders.incarnation, reminders.user_id for no key update of reminders
  )
  update reminders set due_at_ms = least(reminders.due_at_ms, reminders.voted_at_ms)
  from locked
  where reminders.incarnation = locked.incarnation and reminders.user_id = locked.user_id`;

/**
 * Makes reminders due after the hot store has released voters: their waits may be over. Users who still have
 * to wait are only checked once more.
 */
export const markDueByReleases = (sql: Queryable, adjustmentIds: readonly number[]): Promise<unknown> =>
  markDue(
    sql,
    sql`
      join adjustments on adjustments.incarnation = reminders.incarnation
      where adjustments.id = any(${[...adjustmentIds]}::bigint[]) and adjustments.action = 'adjust'
        and ((adjustments.payload ->> 'releaseBeforeMs')::bigint > 0 or exists (
          select from jsonb_array_elements(adjustments.payload -> 'release') as mark
          where mark ->> 'user' = reminders.user_id))`,
  );

/**
 * Makes all waiting reminders of a listing due after an edit that the wait depends on (a premium period
 * began): each is checked again.
 */
export const markDueByEdit = (sql: Queryable, kind: EntityKind, id: string): Promise<unknown> =>
  markDue(
    sql,
    sql`
      join totals on totals.incarnation = reminders.incarnation
      where totals.kind = ${kind} and totals.entity_id = ${id}`,
  );
