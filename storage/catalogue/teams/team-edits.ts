/**
 * Creates, edits and deletes teams. Each edit is one transaction.
 *
 * A change of a team or its members locks the team's row before any other row (`lockTeam`) and decides from
 * what it reads after that, so the rules about owners hold under concurrency. A transaction that puts a bot
 * or server into a team locks that row too (by its foreign key), so a team is never deleted from under it.
 * The caller updates caches and the hot store.
 */
import { v7 as uuidv7 } from 'uuid';
import { findMissing, type Member, type TeamActor } from '../../../engine/rules/members.ts';
import type { Permission } from '../../../engine/rules/permissions.ts';
import { bindTransactions, type Sql, type Transaction } from '../../sql/client.ts';
import { readNumber } from '../../sql/rows.ts';
import type { OwnerDescription } from '../shared/index-rows.ts';
import { lockOwner, openListing, removeListing } from '../shared/listings.ts';
import { type Once, runOnce } from '../shared/once.ts';
import type { LinkRow } from '../shared/profiles.ts';
import { giveVanity } from '../shared/vanity.ts';

export interface TeamFields extends OwnerDescription {
  readonly name: string;
  readonly extraLinks: readonly LinkRow[];
}
/** `null` leaves a field as it is. */
export type TeamChange = { readonly [Field in keyof TeamFields]: TeamFields[Field] | null };

export type TeamCreation =
  | { readonly kind: 'created'; readonly id: string }
  | { readonly kind: 'limit_reached' };
export type TeamRefusal =
  | { readonly kind: 'not_found' | 'not_empty' }
  | { readonly kind: 'permission_missing'; readonly permission: Permission };
/** An edit says what the team has after it. */
export type TeamOutcome =
  | { readonly kind: 'done'; readonly listing?: Readonly<Record<string, unknown>> }
  | TeamRefusal;

/** Who creates a team. They must own fewer than `ownedMax`. */
export interface TeamCreator {
  readonly userId: string;
  readonly ownedMax: number;
  readonly once?: Once | undefined;
}
/** A team, and who acts. */
export interface TeamEdit {
  readonly teamId: string;
  readonly actor: TeamActor;
}

/** Every change is ledger when it resolves. */
export const createTeamEdits = (sql: Sql) =>
  bindTransactions('teams', sql, { create: createTeamOnce, edit: editTeam, remove: removeTeam });

interface LockedMember extends Member {
  readonly mentionable: boolean;
}

/** Locks the team. Resolves to its members, oldest membership first; `null` when there is no such team. */
export const lockTeam = async (
  transaction: Transaction,
  teamId: string,
): Promise<readonly LockedMember[] | null> => {
  const locked = await transaction`select id from teams where id = ${teamId} for update`;
  if (locked.length === 0) return null;
  return transaction<LockedMember[]>`
    select user_id as "userId", permissions, data_holder as "dataHolder", mentionable from team_members
    where team_id = ${teamId} order by created_at, user_id`;
};

const createTeamOnce = (transaction: Transaction, creator: TeamCreator, fields: TeamFields) =>
  runOnce(transaction, creator.once, {
    work: () => createTeam(transaction, creator, fields),
    isDone: ({ kind }) => kind === 'created',
  });

/** Creates a team, with the user as its owner and data holder, and mentionable. */
const createTeam = async (
  transaction: Transaction,
  { userId, ownedMax }: TeamCreator,
  fields: TeamFields,
): Promise<TeamCreation> => {
  await lockOwner(transaction, 'teams', userId);
  const owned = await readNumber(transaction`
    select count(*) from team_members where user_id = ${userId} and 'owner' = any(permissions)`);
  if (owned >= ownedMax) return { kind: 'limit_reached' };
  const id = uuidv7();
  const incarnation = await openListing(transaction, { kind: 'team', id });
  const vanityRef = await giveVanity(transaction, { kind: 'team', id }, fields.name);
  await transaction`
    insert into teams (id, incarnation, itag, vanity_ref, name, short, tags, extra_links, nsfw)
    values (${id}, ${incarnation}, ${uuidv7()}, ${vanityRef}, ${fields.name}, ${fields.short},
      ${fields.tags as string[]}::text[], ${JSON.stringify(fields.extraLinks)}::text::jsonb, ${fields.nsfw})`;
  await transaction`
    insert into team_members (team_id, user_id, itag, permissions, data_holder, mentionable)
    values (${id}, ${userId}, ${uuidv7()}, '{owner}', true, true)`;
  return { kind: 'created', id };
};

const editTeam = async (
  transaction: Transaction,
  { teamId, actor }: TeamEdit,
  change: TeamChange,
): Promise<TeamOutcome> => {
  const members = await lockTeam(transaction, teamId);
  if (members === null) return { kind: 'not_found' };
  const permission = findMissing(members, actor, ['edit_team']);
  if (permission !== null) return { kind: 'permission_missing', permission };
  const links = change.extraLinks === null ? null : JSON.stringify(change.extraLinks);
  const [listing = {}] = await transaction`
    update teams set name = coalesce(${change.name}, name), short = coalesce(${change.short}, short),
      tags = coalesce(${change.tags as string[] | null}::text[], tags),
      extra_links = coalesce(${links}::text::jsonb, extra_links), nsfw = coalesce(${change.nsfw}, nsfw),
      updated_at = now()
    where id = ${teamId} returning name, short, tags, extra_links`;
  return { kind: 'done', listing };
};

/** Deletes the team, its members, sessions and vanity code; its votes become void. It must own nothing. */
const removeTeam = async (transaction: Transaction, { teamId, actor }: TeamEdit): Promise<TeamOutcome> => {
  const members = await lockTeam(transaction, teamId);
  if (members === null) return { kind: 'not_found' };
  const permission = findMissing(members, actor, ['owner']);
  if (permission !== null) return { kind: 'permission_missing', permission };
  const owned = await transaction`
    (select bot_id as id from bots where team_id = ${teamId} limit 1)
    union all (select server_id from servers where team_id = ${teamId} limit 1)`;
  if (owned.length > 0) return { kind: 'not_empty' };
  await removeListing(transaction, { kind: 'team', id: teamId });
  return { kind: 'done' };
};
