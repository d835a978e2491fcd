/**
 * Who may add, change and remove team members: tables of the pure rules.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  decideAddition,
  decideEdit,
  decideRemoval,
  findMissing,
  type Member,
  type MemberChange,
  type TeamActor,
} from '../../../engine/rules/members.ts';

const test = suite('rules of members');

const member = (userId: string, permissions: string[] = [], dataHolder = false): Member => ({
  userId,
  permissions,
  dataHolder,
});
const user = (id: string, limits: string[] = []): TeamActor => ({ kind: 'user', id, limits });
const change = (fields: Partial<MemberChange>): MemberChange => ({
  permissions: null,
  dataHolder: null,
  mentionable: null,
  ...fields,
});

const robin = member('robin', ['owner'], true);
const wren = member('wren', ['edit_team_members', 'edit_bots', 'remove_team_members', 'add_team_members']);
const finch = member('finch', ['delete_bots']);
const team = [robin, wren, finch];

const edit = (
  members: readonly Member[],
  actor: TeamActor,
  edited: Partial<MemberChange> & { readonly userId: string },
) => {
  const { userId, ...fields } = edited;
  const verdict = decideEdit(members, actor, { userId, change: change(fields) });
  if (verdict.kind === 'edit') return 'edit';
  return verdict.reason === 'permission_missing' ? verdict.permission : verdict.reason;
};
const remove = (members: readonly Member[], actor: TeamActor, userId: string) => {
  const verdict = decideRemoval(members, actor, userId);
  if (verdict.kind === 'remove') return [verdict.nextOwner, verdict.nextDataHolder];
  return verdict.reason === 'permission_missing' ? verdict.permission : verdict.reason;
};

test('the limits of a session restrict the permissions of its user, also of an owner', () => {
  assert.is(findMissing(team, user('robin'), ['edit_team']), null);
  assert.is(findMissing(team, user('robin', ['edit_bots']), ['edit_bots', 'edit_team']), 'edit_team');
  assert.is(findMissing(team, user('wren', ['edit_team']), ['edit_team']), 'edit_team');
  assert.is(findMissing(team, { kind: 'team', id: 't', limits: [] }, ['owner']), null);
  assert.is(findMissing(team, { kind: 'team', id: 't', limits: ['edit_bots'] }, ['owner']), 'owner');
});

test('callers can give a new member only permissions that they have', () => {
  const add = (actor: TeamActor, permissions: ('edit_bots' | 'owner')[], members = team) => {
    const verdict = decideAddition(members, actor, { userId: 'swift', permissions, membersMax: 20 });
    return verdict.kind === 'refused' && verdict.reason === 'permission_missing'
      ? verdict.permission
      : verdict.kind === 'refused'
        ? verdict.reason
        : verdict.permissions;
  };
  const full = Array.from({ length: 20 }, (_, index) => member(`user${index}`, ['owner']));

  assert.equal(add(user('wren'), ['edit_bots', 'edit_bots']), ['edit_bots']);
  assert.is(add(user('wren'), ['owner']), 'owner');
  assert.is(add(user('finch'), []), 'add_team_members');
  assert.is(add(user('stranger'), []), 'add_team_members');
  assert.is(add(user('user0'), [], full), 'members_full');
  const twice = decideAddition(team, user('robin'), { userId: 'finch', permissions: [], membersMax: 20 });
  assert.equal(twice, { kind: 'refused', reason: 'already_member' });
});

test('an edit requires every permission that it grants or revokes, and no other', () => {
  assert.is(edit(team, user('wren'), { userId: 'finch', permissions: ['delete_bots', 'edit_bots'] }), 'edit');
  assert.is(edit(team, user('wren'), { userId: 'finch', permissions: ['edit_bots'] }), 'delete_bots');
  assert.is(edit(team, user('wren'), { userId: 'finch', permissions: ['owner', 'delete_bots'] }), 'owner');
  assert.is(edit(team, user('wren'), { userId: 'wren', permissions: ['owner'] }), 'owner');
  assert.is(edit(team, user('robin'), { userId: 'finch', permissions: ['owner'] }), 'edit');
  assert.is(edit(team, user('finch'), { userId: 'wren', mentionable: true }), 'edit_team_members');
});

test('owners change the data holder; members change their own mentionable flag', () => {
  assert.is(edit(team, user('wren'), { userId: 'finch', dataHolder: true }), 'owner');
  assert.is(edit(team, user('robin'), { userId: 'finch', dataHolder: true }), 'edit');
  assert.is(edit(team, user('finch'), { userId: 'finch', mentionable: true }), 'edit');
  assert.is(edit(team, user('finch'), { userId: 'finch', mentionable: true, dataHolder: false }), 'edit');
  assert.is(edit(team, user('finch'), { userId: 'finch', dataHolder: true }), 'edit_team_members');
  assert.is(edit(team, user('finch'), { userId: 'finch', permissions: ['edit_bots'] }), 'edit_team_members');
});

test('the last owner and the last data holder cannot be demoted, not even by themselves', () => {
  assert.is(edit(team, user('robin'), { userId: 'robin', permissions: ['edit_bots'] }), 'last_owner');
  assert.is(edit(team, user('robin'), { userId: 'robin', dataHolder: false }), 'last_data_holder');
  const two = [robin, member('wren', ['owner'], true)];
  assert.is(
    edit(two, user('robin'), { userId: 'robin', permissions: ['edit_bots'], dataHolder: false }),
    'edit',
  );
  assert.is(edit(two, user('robin'), { userId: 'swift', mentionable: true }), 'unknown_member');
  assert.is(edit(team, user('finch'), { userId: 'swift', mentionable: true }), 'edit_team_members');
});

test('removing another member requires all their permissions; leaving requires none', () => {
  assert.is(remove(team, user('wren'), 'finch'), 'delete_bots');
  assert.is(remove(team, user('wren'), 'robin'), 'owner');
  assert.equal(remove(team, user('robin'), 'wren'), [null, null]);
  assert.equal(remove(team, user('finch'), 'finch'), [null, null]);
  assert.is(remove(team, user('finch'), 'wren'), 'remove_team_members');
  assert.is(remove(team, user('robin'), 'swift'), 'unknown_member');
  assert.is(remove(team, user('swift'), 'swift'), 'unknown_member');
  assert.is(remove(team, user('robin', ['remove_team_members']), 'robin'), 'owner');
});

test('the last owner who leaves is succeeded by the oldest data holder, else member', () => {
  const holder = member('finch', [], true);
  assert.equal(remove(team, user('robin'), 'robin'), ['wren', 'wren']);
  assert.equal(remove([robin, wren, holder], user('robin'), 'robin'), ['finch', null]);
  assert.equal(remove([robin, wren, member('swift', ['owner'])], user('robin'), 'robin'), [null, 'wren']);
});

test('others cannot remove the last owner or data holder; the last member cannot leave', () => {
  const token: TeamActor = { kind: 'team', id: 't', limits: [] };
  assert.is(remove(team, token, 'robin'), 'last_owner');
  const two = [robin, member('wren', ['owner'])];
  assert.is(remove(two, user('wren'), 'robin'), 'last_data_holder');
  assert.is(remove([robin], user('robin'), 'robin'), 'last_member');
  assert.is(remove([robin], token, 'robin'), 'last_member');
});

test.run();
