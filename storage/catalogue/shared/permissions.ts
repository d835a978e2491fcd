/**
 * What access a user has to an entity: the team that owns it, and the user's permission ids.
 *
 * The owner of a bot or pack has `owner`. For a team and what it owns, the membership says. One statement per
 * call; never cached, because a removal must take effect at once.
 */
import type { EntityKind, Target } from '../../../engine/ids.ts';
import type { Queryable } from '../../sql/client.ts';
import { readFirst } from '../../sql/rows.ts';

/** Who owns an entity, and what one user may do with it. */
export interface EntityAccess {
  /** The team that owns the entity, or is it; `null` for none. */
  readonly teamId: string | null;
  /** Permission ids of the user as stored; `owner` implies all others. */
  readonly permissions: readonly string[];
}
type OwnedTarget = { readonly kind: EntityKind | 'user' } & Pick<Target, 'id'>;
interface AccessRow {
  readonly team_id: string | null;
  readonly owner: boolean;
  readonly permissions: readonly string[] | null;
}

/** Builds a query of who owns the entity: a user or a team. A team owns itself, and a user has no owner. */
export const selectOwner = (sql: Queryable, { kind, id }: OwnedTarget) => {
  switch (kind) {
    case 'user':
      return sql`select null as owner_id, null as team_id`;
    case 'bot':
      return sql`select owner_id, team_id from bots where bot_id = ${id}`;
    case 'server':
      return sql`select null as owner_id, team_id from servers where server_id = ${id}`;
    case 'pack':
      return sql`select owner_id, null as team_id from packs where url = lower(${id} collate "C")`;
    default:
      return sql`select null as owner_id, id as team_id from teams where id = ${id}`;
  }
};

/** Reads a user's access; `null` when there is no such entity. The user id `''` has no permissions. */
export const findAccess = async (
  sql: Queryable,
  target: Target,
  userId: string,
): Promise<EntityAccess | null> => {
  const row = await readFirst(sql<AccessRow[]>`
    select entity.team_id, coalesce(entity.owner_id = ${userId}, false) as owner, member.permissions
    from (${selectOwner(sql, target)}) as entity
    left join team_members as member on member.team_id = entity.team_id and member.user_id = ${userId}`);
  if (row === null) return null;
  return { teamId: row.team_id, permissions: row.owner ? ['owner'] : (row.permissions ?? []) };
};
