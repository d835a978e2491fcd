/**
 * What access a user has to an entity: the team that owns it, and the user's permission ids.
 *
 * The owner of a bot or pack has `owner`. For a team and what it owns, the membership says. One statement per
 * call; never cached, because a removal must take effect at once.
 */
import type { Target } from '../../../engine/ids.ts';
import type { Queryable } from '../../sql/client.ts';

/** Who owns an entity, and what one user may do with it. */
export interface EntityAccess {
  /** The team that owns the entity, or is it; `null` for none. */
  readonly teamId: string | null;
  /** Permission ids of the user as stored; `owner` implies all others. */
  readonly permissions: readonly string[];
}
interface AccessRow {
  readonly team_id: string | null;
  readonly owner: boolean;
  readonly permissions: readonly string[] | null;
}

const selectAccess = (sql: Queryable, target: Target, userId: string) => {
  const membership = sql`left join team_members as member
    on member.team_id = entity.team_id and member.user_id = ${userId}`;
  if (target.kind === 'bot') {
    return sql<AccessRow[]>`
      select entity.team_id, coalesce(entity.owner_id = ${userId}, false) as owner, member.permissions
      from bots as entity ${membership} where entity.bot_id = ${target.id}`;
  }
  if (target.kind === 'server') {
    return sql<AccessRow[]>`
      select entity.team_id, false as owner, member.permissions
      from servers as entity ${membership} where entity.server_id = ${target.id}`;
  }
  if (target.kind === 'pack') {
    return sql<AccessRow[]>`
      select null as team_id, owner_id = ${userId} as owner, null as permissions
      from packs where url = lower(${target.id})`;
  }
  return sql<AccessRow[]>`
    select entity.team_id, false as owner, member.permissions
    from (select id as team_id from teams where id = ${target.id}) as entity ${membership}`;
};

/** Reads a user's access; `null` when there is no such entity. The user id `''` has no permissions. */
export const findAccess = async (
  sql: Queryable,
  target: Target,
  userId: string,
): Promise<EntityAccess | null> => {
  const row = (await selectAccess(sql, target, userId))[0];
  if (row === undefined) return null;
  return { teamId: row.team_id, permissions: row.owner ? ['owner'] : (row.permissions ?? []) };
};
