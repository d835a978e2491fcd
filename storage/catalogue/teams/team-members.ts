/**
 * Adds, edits and removes members of a team. Each change is one transaction under the lock on the team.
 *
 * It reads the members, calls engine/rules/members.ts and writes the result, so a team never loses its last
 * owner or data holder under concurrency. The same transaction ends sessions that the member minted for the
 * team and what it owns: all of them when the member is removed; when permissions change, those that exceed
 * the permissions that are left.
 */
import { v7 as uuidv7 } from 'uuid';
import {
  decideAddition,
  decideEdit,
  decideRemoval,
  type MemberChange,
  type MemberRefusal,
  type Removal,
} from '../../../engine/rules/members.ts';
import type { Permission } from '../../../engine/rules/permissions.ts';
import { bindTransactions, type Sql, type Transaction } from '../../sql/client.ts';
import { endExcessSessions } from '../people/sessions.ts';
import { lockTeam, type TeamEdit } from './team-edits.ts';

/** The membership, and who acts. */
export interface MembershipRequest extends TeamEdit {
  readonly userId: string;
}
type MembershipRefusal =
  | MemberRefusal
  | { readonly kind: 'unknown_team' }
  | { readonly kind: 'unknown_user' };
export type MemberOutcome = MembershipRefusal | { readonly kind: 'done' };
/** `revoked`: ids of the sessions that ended with the permissions. */
export type EditOutcome = MembershipRefusal | { readonly kind: 'done'; readonly revoked: readonly string[] };
/** `revoked`: ids of the sessions that ended with the membership. */
export type RemovalOutcome =
  | MembershipRefusal
  | { readonly kind: 'removed'; readonly revoked: readonly string[] };

/** The new member's permissions, and the cap on members including the new one. */
export interface MemberAddition {
  readonly permissions: readonly Permission[];
  readonly membersMax: number;
}

/** Every change is ledger when it resolves. */
export const createTeamMembers = (sql: Sql) =>
  bindTransactions('members', sql, { add: addMember, edit: editMember, remove: removeMember });

const addMember = async (
  transaction: Transaction,
  { teamId, userId, actor }: MembershipRequest,
  added: MemberAddition,
): Promise<MemberOutcome> => {
  const members = await lockTeam(transaction, teamId);
  if (members === null) return { kind: 'unknown_team' };
  const verdict = decideAddition(members, actor, { userId, ...added });
  if (verdict.kind === 'refused') return verdict;
  const rows = await transaction`
    insert into team_members (team_id, user_id, itag, permissions)
    select ${teamId}, id, ${uuidv7()}, ${verdict.permissions as string[]}::text[] from users
    where id = ${userId} and not bot
    returning user_id`;
  return rows.length === 0 ? { kind: 'unknown_user' } : { kind: 'done' };
};

const editMember = async (
  transaction: Transaction,
  { teamId, userId, actor }: MembershipRequest,
  change: MemberChange,
): Promise<EditOutcome> => {
  const members = await lockTeam(transaction, teamId);
  if (members === null) return { kind: 'unknown_team' };
  const verdict = decideEdit(members, actor, { userId, change });
  if (verdict.kind === 'refused') return verdict;
  const { permissions, dataHolder, mentionable } = verdict.change;
  await transaction`
    update team_members set
      permissions = coalesce(${permissions as string[] | null}::text[], permissions),
      data_holder = coalesce(${dataHolder}, data_holder), mentionable = coalesce(${mentionable}, mentionable)
    where team_id = ${teamId} and user_id = ${userId}`;
  const revoked =
    permissions === null ? [] : await endExcessSessions(transaction, { teamId, userId }, permissions);
  return { kind: 'done', revoked };
};

const removeMember = async (
  transaction: Transaction,
  { teamId, userId, actor }: MembershipRequest,
): Promise<RemovalOutcome> => {
  const members = await lockTeam(transaction, teamId);
  if (members === null) return { kind: 'unknown_team' };
  const verdict = decideRemoval(members, actor, userId);
  if (verdict.kind === 'refused') return verdict;
  await transaction`delete from team_members where team_id = ${teamId} and user_id = ${userId}`;
  await promote(transaction, teamId, verdict);
  return { kind: 'removed', revoked: await endExcessSessions(transaction, { teamId, userId }, null) };
};

/** Makes another member owner or data holder if the rules demand it. */
const promote = async (transaction: Transaction, teamId: string, verdict: Removal): Promise<void> => {
  const { nextOwner, nextDataHolder } = verdict;
  if (nextOwner === null && nextDataHolder === null) return;
  await transaction`
    update team_members set data_holder = data_holder or user_id = coalesce(${nextDataHolder}, ''),
      permissions = case when user_id = coalesce(${nextOwner}, '')
        then array_prepend('owner', permissions) else permissions end
    where team_id = ${teamId} and user_id in (coalesce(${nextOwner}, ''), coalesce(${nextDataHolder}, ''))`;
};
