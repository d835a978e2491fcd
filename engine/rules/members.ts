/**
 * Decides who may add, edit and remove a team's members, and who succeeds the last owner or data holder.
 *
 * Pure: takes the team's current members (oldest membership first) and returns a decision. The catalogue
 * calls it under the team's lock, so the decision is still valid when it is written. A user has the
 * permissions of their membership, reduced to the limits of their session; the team's own token has all.
 */
import { isUsable, type Permission, permissionCatalogue } from './permissions.ts';

export interface Member {
  readonly userId: string;
  /** Permission ids as stored; `owner` implies all. */
  readonly permissions: readonly string[];
  readonly dataHolder: boolean;
}
/** The caller: a user, or the team itself by its token. */
export interface TeamActor {
  readonly kind: 'user' | 'team';
  readonly id: string;
  /** Limits of the caller's session; empty is unlimited. */
  readonly limits: readonly string[];
}
export type MemberRefusal =
  | { readonly kind: 'refused'; readonly reason: 'permission_missing'; readonly permission: Permission }
  | {
      readonly kind: 'refused';
      readonly reason:
        | 'already_member'
        | 'members_full'
        | 'unknown_member'
        | 'last_owner'
        | 'last_data_holder'
        | 'last_member';
    };
/** `null` leaves a member's field as it is. */
export interface MemberChange {
  readonly permissions: readonly Permission[] | null;
  readonly dataHolder: boolean | null;
  readonly mentionable: boolean | null;
}
export interface Removal {
  readonly kind: 'remove';
  /** The member who becomes owner, or data holder; `null` if none is needed. */
  readonly nextOwner: string | null;
  readonly nextDataHolder: string | null;
}

type RefusalReason = Exclude<MemberRefusal, { reason: 'permission_missing' }>['reason'];
const refuse = (reason: RefusalReason): MemberRefusal => ({ kind: 'refused', reason });
const refuseMissing = (permission: Permission): MemberRefusal => ({
  kind: 'refused',
  reason: 'permission_missing',
  permission,
});

const listGranted = (members: readonly Member[], actor: TeamActor): readonly string[] => {
  if (actor.kind === 'team') return ['owner'];
  return members.find(({ userId }) => userId === actor.id)?.permissions ?? [];
};

/**
 * Returns the first of `needed` that the acting user or team does not have, or that the limits of their
 * session exclude; `null` if they may use all.
 */
export const findMissing = (
  members: readonly Member[],
  actor: TeamActor,
  needed: readonly Permission[],
): Permission | null => {
  const granted = listGranted(members, actor);
  return needed.find((id) => !isUsable(granted, actor.limits, id)) ?? null;
};

/** Sorts permissions in catalogue order, each once; drops ids that are no longer permissions. */
const sortPermissions = (ids: readonly string[]): readonly Permission[] =>
  permissionCatalogue.map(({ id }) => id).filter((id) => ids.includes(id));

/** Permissions that are in only one of the two lists. */
const listChanged = (before: readonly string[], after: readonly string[]): readonly Permission[] =>
  sortPermissions([
    ...before.filter((id) => !after.includes(id)),
    ...after.filter((id) => !before.includes(id)),
  ]);

/** Whether the actor is that user, with a session without limits. */
const isSelf = (actor: TeamActor, userId: string): boolean =>
  actor.kind === 'user' && actor.id === userId && actor.limits.length === 0;

const isOwner = (member: Member): boolean => member.permissions.includes('owner');
const isDataHolder = (member: Member): boolean => member.dataHolder;

/** Decides an addition: it needs `add_team_members` and every permission that the new member gets. */
export const decideAddition = (
  members: readonly Member[],
  actor: TeamActor,
  added: {
    readonly userId: string;
    readonly permissions: readonly Permission[];
    readonly membersMax: number;
  },
): MemberRefusal | { readonly kind: 'add'; readonly permissions: readonly Permission[] } => {
  const missing = findMissing(members, actor, ['add_team_members', ...added.permissions]);
  if (missing !== null) return refuseMissing(missing);
  if (members.some(({ userId }) => userId === added.userId)) return refuse('already_member');
  if (members.length >= added.membersMax) return refuse('members_full');
  return { kind: 'add', permissions: sortPermissions(added.permissions) };
};

/** Lists the permissions that an edit needs; none for members who only change their own `mentionable`. */
const listNeededForEdit = (member: Member, change: MemberChange, own: boolean): readonly Permission[] => {
  const changed = change.permissions === null ? [] : listChanged(member.permissions, change.permissions);
  const changesHolder = change.dataHolder !== null && change.dataHolder !== member.dataHolder;
  const harmless = own && changed.length === 0 && !changesHolder;
  return [
    ...(harmless ? [] : (['edit_team_members'] as const)),
    ...(changesHolder ? (['owner'] as const) : []),
    ...changed,
  ];
};

/**
 * Decides an edit: it needs each permission that it changes, and `owner` to change `dataHolder`. The last
 * owner and the last data holder stay that.
 */
export const decideEdit = (
  members: readonly Member[],
  actor: TeamActor,
  edit: { readonly userId: string; readonly change: MemberChange },
): MemberRefusal | { readonly kind: 'edit'; readonly change: MemberChange } => {
  const { change } = edit;
  const before = members.find(({ userId }) => userId === edit.userId);
  if (before === undefined) {
    const missing = findMissing(members, actor, ['edit_team_members']);
    return missing === null ? refuse('unknown_member') : refuseMissing(missing);
  }
  const own = isSelf(actor, edit.userId);
  const missing = findMissing(members, actor, listNeededForEdit(before, change, own));
  if (missing !== null) return refuseMissing(missing);
  const after: Member = {
    userId: before.userId,
    permissions: change.permissions ?? before.permissions,
    dataHolder: change.dataHolder ?? before.dataHolder,
  };
  const others = members.filter((member) => member !== before);
  const ends = (is: (member: Member) => boolean): boolean => is(before) && !is(after) && !others.some(is);
  if (ends(isOwner)) return refuse('last_owner');
  if (ends(isDataHolder)) return refuse('last_data_holder');
  const permissions = change.permissions === null ? null : sortPermissions(change.permissions);
  return { kind: 'edit', change: { ...change, permissions } };
};

/**
 * Decides a removal. Members may always leave while another one remains; the longest-standing data holder, or
 * else member, succeeds them. Removing another member needs `remove_team_members` and every permission that
 * the member has.
 */
export const decideRemoval = (
  members: readonly Member[],
  actor: TeamActor,
  removedId: string,
): MemberRefusal | Removal => {
  const removed = members.find(({ userId }) => userId === removedId);
  const leaving = isSelf(actor, removedId);
  if (!leaving) {
    const needed = ['remove_team_members' as const, ...sortPermissions(removed?.permissions ?? [])];
    const missing = findMissing(members, actor, needed);
    if (missing !== null) return refuseMissing(missing);
  }
  if (removed === undefined) return refuse('unknown_member');
  const others = members.filter((member) => member !== removed);
  const successor = others[0];
  if (successor === undefined) return refuse('last_member');
  const endsOwners = isOwner(removed) && !others.some(isOwner);
  const endsHolders = isDataHolder(removed) && !others.some(isDataHolder);
  if (!leaving && endsOwners) return refuse('last_owner');
  if (!leaving && endsHolders) return refuse('last_data_holder');
  return {
    kind: 'remove',
    nextOwner: endsOwners ? (others.find(isDataHolder) ?? successor).userId : null,
    nextDataHolder: endsHolders ? successor.userId : null,
  };
};
