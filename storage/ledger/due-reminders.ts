/**
 * Makes reminders due when something happened to their users' votes.
 *
 * SQL does not know how long anybody waits, the engine does: so a reminder becomes due at the vote itself,
 * and whoever looks first moves it to the end of the wait. That costs one look per vote with a reminder, and
 * nothing for the others. Called by storage/ledger/ledger.ts and adjustments.ts, and by
 * catalogue/reminders.ts.
 */
import type { EntityKind } from '../../engine/ids.ts';
import type { OutboxVote } from '../../engine/ports.ts';
import { formatNumbers, formatTexts } from '../sql/arrays.ts';
import type { Queryable } from '../sql/client.ts';

/** Votes that reach the ledger. A round that is repeated makes nothing due again. */
export const markDueByVotes = async (sql: Queryable, votes: readonly OutboxVote[]): Promise<void> => {
  await sql`
    with voted as (
      select incarnation, user_id, max(at_ms) as at_ms
      from unnest(
        ${formatNumbers(votes.map(({ ref }) => ref.incarnation))}::bigint[],
        ${formatTexts(votes.map(({ user }) => user))}::text[],
        ${formatNumbers(votes.map(({ atMs }) => atMs))}::bigint[]
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

/**
 * The hot store has heard that votes no longer hold their voters back: their waits may be over now. Those who
 * still wait are only looked at once more.
 */
export const markDueByReleases = async (sql: Queryable, adjustmentIds: readonly number[]): Promise<void> => {
  await sql`
    with locked as (
      select reminders.incarnation, reminders.user_id
      from reminders join adjustments on adjustments.incarnation = reminders.incarnation
      where adjustments.id = any(${[...adjustmentIds]}::bigint[]) and adjustments.action = 'adjust'
        and reminders.due_at_ms is not null
        and ((adjustments.payload ->> 'releaseBeforeMs')::bigint > 0 or exists (
          select from jsonb_array_elements(adjustments.payload -> 'release') as mark
          where mark ->> 'user' = reminders.user_id))
      order by reminders.incarnation, reminders.user_id for no key update of reminders
    )
    update reminders set due_at_ms = least(reminders.due_at_ms, reminders.voted_at_ms)
    from locked
    where reminders.incarnation = locked.incarnation and reminders.user_id = locked.user_id`;
};

/**
 * What the wait for this listing depends on was edited (a premium period began): all who wait are looked at
 * again.
 */
export const markDueByEdit = async (
  sql: Queryable,
  { kind, id }: { readonly kind: EntityKind; readonly id: string },
): Promise<void> => {
  await sql`
    with locked as (
      select reminders.incarnation, reminders.user_id
      from reminders join totals on totals.incarnation = reminders.incarnation
      where totals.kind = ${kind} and totals.entity_id = ${id} and reminders.due_at_ms is not null
      order by reminders.incarnation, reminders.user_id for no key update of reminders
    )
    update reminders set due_at_ms = least(reminders.due_at_ms, reminders.voted_at_ms)
    from locked
    where reminders.incarnation = locked.incarnation and reminders.user_id = locked.user_id`;
};
