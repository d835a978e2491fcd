/**
 * Who may add, change and remove a team's members, and who follows when the last owner or data holder leaves.
 *
 * Pure: takes the team's members as they are (longest-standing first) and says what must become of them. The
 * catalogue asks under the team's lock, so what is decided here holds when it is written. Whoever acts holds
 * what his membership says, cut down to the limits of his session; the team's own token holds everything.
 */
import { includesPermission, type Permission, permissionCatalogue } from './permissions.ts';

export interface Member {
  readonly userId: string;
  /** Permission ids as stored; `owner` implies all. */
  readonly permissions: readonly string[];
  readonly dataHolder: boolean;
}
/** Who acts: a user, or the team itself by its token. */
export interface TeamActor {
  readonly kind: 'user' | 'team';
  readonly id: string;
  /** Limits of his session; empty is unlimited. */
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
  /** Who becomes owner, and data holder; `null` when nobody must. */
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

/** The first of `needed` that the actor may not use now, `null` when he may use all. */
export const findMissing = (
  members: readonly Member[],
  actor: TeamActor,
  needed: readonly Permission[],
): Permission | null => {
  const held = listGranted(members, actor);
  const mine = (word: Permission): boolean =>
    includesPermission(held, word) && (actor.limits.length === 0 || includesPermission(actor.limits, word));
  return needed.find((word) => !mine(word)) ?? null;
};

/** Catalogue order, each once; words that are no permission (any more) are dropped. */
const sortPermissions = (words: readonly string[]): readonly Permission[] =>
  permissionCatalogue.map(({ id }) => id).filter((id) => words.includes(id));

/** Permissions that one list has and the other has not. */
const listChanged = (before: readonly string[], after: readonly string[]): readonly Permission[] =>
  sortPermissions([
    ...before.filter((word) => !after.includes(word)),
    ...after.filter((word) => !before.includes(word)),
  ]);

/** The member himself, with a session that is not limited. */
const isSelf = (actor: TeamActor, userId: string): boolean =>
  actor.kind === 'user' && actor.id === userId && actor.limits.length === 0;

const isOwner = (member: Member): boolean => member.permissions.includes('owner');
const isDataHolder = (member: Member): boolean => member.dataHolder;

/** Adding needs `add_team_members` and every permission that is given. */
export const decideAddition = (
  members: readonly Member[],
  actor: TeamActor,
  added: {
    readonly userId: string;
    readonly permissions: readonly Permission[];
    readonly membersMax: number;
  },
): MemberRefusal | { readonly kind: 'add'; readonly permissions: readonly Permission[] } => {
  const lacking = findMissing(members, actor, ['add_team_members', ...added.permissions]);
  if (lacking !== null) return refuseMissing(lacking);
  if (members.some(({ userId }) => userId === added.userId)) return refuse('already_member');
  if (members.length >= added.membersMax) return refuse('members_full');
  return { kind: 'add', permissions: sortPermissions(added.permissions) };
};

/** What an edit needs: nothing of a member who only says whether he can be mentioned. */
const listNeededForEdit = (member: Member, change: MemberChange, own: boolean): readonly Permission[] => {
  const touched = change.permissions === null ? [] : listChanged(member.permissions, change.permissions);
  const holder = change.dataHolder !== null && change.dataHolder !== member.dataHolder;
  const harmless = own && touched.length === 0 && !holder;
  return [
    ...(harmless ? [] : (['edit_team_members'] as const)),
    ...(holder ? (['owner'] as const) : []),
    ...touched,
  ];
};

/** Changing permissions needs each one that changes; `dataHolder` is for owners. A last one stays one. */
export const decideEdit = (
  members: readonly Member[],
  actor: TeamActor,
  edit: { readonly userId: string; readonly change: MemberChange },
): MemberRefusal | { readonly kind: 'edit'; readonly change: MemberChange } => {
  const { change } = edit;
  const before = members.find(({ userId }) => userId === edit.userId);
  if (before === undefined) {
    const lacking = findMissing(members, actor, ['edit_team_members']);
    return lacking === null ? refuse('unknown_member') : refuseMissing(lacking);
  }
  const own = isSelf(actor, edit.userId);
  const lacking = findMissing(members, actor, listNeededForEdit(before, change, own));
  if (lacking !== null) return refuseMissing(lacking);
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
 * Leaving is always allowed while another member remains; successors are then the longest-standing data
 * holder, else member. Removing somebody else needs `remove_team_members` and every permission he holds.
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
    const lacking = findMissing(members, actor, needed);
    if (lacking !== null) return refuseMissing(lacking);
  }
  if (removed === undefined) return refuse('unknown_member');
  const others = members.filter((member) => member !== removed);
  const heir = others[0];
  if (heir === undefined) return refuse('last_member');
  const endsOwners = isOwner(removed) && !others.some(isOwner);
  const endsHolders = isDataHolder(removed) && !others.some(isDataHolder);
  if (!leaving && endsOwners) return refuse('last_owner');
  if (!leaving && endsHolders) return refuse('last_data_holder');
  return {
    kind: 'remove',
    nextOwner: endsOwners ? (others.find(isDataHolder) ?? heir).userId : null,
    nextDataHolder: endsHolders ? heir.userId : null,
  };
};
