/**
 * Reads what a hot store needs to catch up with SQL: recent voters of a listing, and facts that were edited.
 *
 * This file only reads them, and deletes edits that were sent. flush.ts writes votes, triggers record edits.
 */

import type { CastVote } from '../../engine/entity/items.ts';
import type { EntityRef, Target } from '../../engine/ids.ts';
import type { Edit, LedgerVote } from '../../engine/ports.ts';
import { buildRows, type Sql } from '../sql/client.ts';
import { markDueByEdit } from './due-reminders.ts';

/** Reads a page of cast votes whose voters may have to wait, by time and voter, through an index. */
export const selectVoters = async (
  sql: Sql,
  { kind, id, incarnation }: EntityRef,
  { sinceMs, after, limit }: { sinceMs: number; after: CastVote | null; limit: number },
): Promise<readonly LedgerVote[]> => {
  const rows = await sql<{ user: string; at_ms: number; pinned: boolean }[]>`
    select author as user, (extract(epoch from created_at) * 1000)::bigint as at_ms,
      bool_or(void_reason = 'redeemed' or immutable) as pinned
    from vote_rows
    where target_type = ${kind} and target_id = ${id} and incarnation = ${incarnation}
      and created_at >= ${new Date(Math.max(sinceMs, after?.atMs ?? 0))}
      and (created_at, author) > (${new Date(after?.atMs ?? 0)}, ${after?.user ?? ''})
      and (not void or holds)
    group by created_at, author order by created_at, author limit ${limit}`;
  return rows.map(({ user, at_ms, pinned }) => ({ user, atMs: at_ms, pinned }));
};

/**
 * Reads edited facts that the hot store has not confirmed, oldest first. Before a premium period begins, its
 * facts have an earlier revision than the edit, which then stays.
 */
export const selectEdits = async (sql: Sql, limit: number): Promise<readonly Edit[]> => {
  const rows = await sql<(Target & Pick<Edit, 'incarnation' | 'revision'>)[]>`
    select kind, entity_id as id, incarnation,
      least(edited.revision, facts.revision - (select revisions from lineage)) as revision
    from edited join totals using (incarnation) join facts using (incarnation)
    where at <= now() order by at, incarnation limit ${limit}`;
  return rows.map(({ kind, id, incarnation, revision }) => ({ target: { kind, id }, incarnation, revision }));
};

/**
 * Deletes edits that were sent. A newer edit of the same listing stays; one whose premium period has not
 * begun is sent again when it begins. Reminders are due: a wait may end sooner.
 */
export const deleteEdits = async (sql: Sql, edits: readonly Edit[]): Promise<void> => {
  if (edits.length === 0) return;
  const sent = sql`
    ${buildRows(sql, edits, { incarnation: 'bigint', revision: 'bigint' })} as sent (incarnation, revision)`;
  await sql`
    with begun as (
      delete from edited using ${sent}
      where edited.incarnation = sent.incarnation and edited.revision <= sent.revision)
    update edited set at = premium_from from facts join ${sent} using (incarnation)
    where edited.incarnation = sent.incarnation and edited.revision = sent.revision + 1
      and premium_from > now()`;
  for (const { target } of edits) await markDueByEdit(sql, target.kind, target.id);
};
