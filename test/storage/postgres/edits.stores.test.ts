/**
 * Rules of teams, packs and vanity codes under concurrent requests on a Postgres server. The embedded store
 * runs one transaction at a time, so only here can two decisions be concurrent.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { MemberChange, TeamActor } from '../../../engine/rules/members.ts';
import { createCatalogue } from '../../../storage/catalogue/catalogue.ts';
import type { NewSession, SessionTarget } from '../../../storage/catalogue/people/sessions.ts';
import { assertIncludes } from '../../support/assert-includes.ts';
import { addBot, addMember, addPack, addTeam, addUser, newSession } from '../catalogue/directory.ts';
import { openDatabase } from './database.ts';

const test = suite('edits on postgres');
const { sql } = await openDatabase(test);
let teams = 0;
const rounds = 10;
const users = ['robin', 'wren', 'finch', 'swift', 'crane', 'heron'];

const catalogue = createCatalogue(sql);
for (const user of users) await addUser(sql, user);
const actor = (id: string): TeamActor => ({ kind: 'user', id, limits: [] });
const unchanged: MemberChange = { permissions: null, dataHolder: null, mentionable: null };
/** Creates a team; every member is an owner and a data holder. */
const addNewTeam = async (members: readonly string[]): Promise<string> => {
  const id = `team-${++teams}`;
  await addTeam(sql, id);
  for (const user of members) await addMember(sql, id, { user, permissions: ['owner'] });
  await sql`update team_members set data_holder = true where team_id = ${id}`;
  return id;
};
const countMembers = async (teamId: string) => {
  const [row] = await sql<{ owners: number; holders: number; members: number }[]>`
    select count(*) filter (where 'owner' = any(permissions)) as owners,
      count(*) filter (where data_holder) as holders, count(*) as members
    from team_members where team_id = ${teamId}`;
  return { ...row };
};

test('when all owners demote themselves at once, one owner and one data holder stay', async () => {
  for (let round = 0; round < rounds; round++) {
    const teamId = await addNewTeam(users);
    await Promise.all(
      users.map((userId) =>
        catalogue.teams.members.edit(
          { teamId, userId, actor: actor(userId) },
          { ...unchanged, permissions: ['edit_team'], dataHolder: false },
        ),
      ),
    );
    assert.equal(await countMembers(teamId), { owners: 1, holders: 1, members: 6 });
  }
});

test('when all members leave at once, one stays and is owner and data holder', async () => {
  for (let round = 0; round < rounds; round++) {
    const teamId = await addNewTeam(['robin', 'wren']);
    for (const user of ['finch', 'swift', 'crane']) await addMember(sql, teamId, { user, permissions: [] });
    const leave = (userId: string) =>
      catalogue.teams.members.remove({ teamId, userId, actor: actor(userId) });
    const outcomes = await Promise.all(users.slice(0, 5).map(leave));

    assert.is(outcomes.filter(({ kind }) => kind === 'removed').length, 4);
    assert.equal(await countMembers(teamId), { owners: 1, holders: 1, members: 1 });
  }
});

test('when owners remove each other at once, one owner stays', async () => {
  for (let round = 0; round < rounds; round++) {
    const teamId = await addNewTeam(['robin', 'wren']);
    await Promise.all([
      catalogue.teams.members.remove({ teamId, userId: 'wren', actor: actor('robin') }),
      catalogue.teams.members.remove({ teamId, userId: 'robin', actor: actor('wren') }),
    ]);
    assert.equal(await countMembers(teamId), { owners: 1, holders: 1, members: 1 });
  }
});

test('the caps on owned teams, members and packs hold under concurrency', async () => {
  await addUser(sql, 'many');
  const teamFields = { name: 'Same Name', short: '', tags: [], extraLinks: [], nsfw: false };
  for (let index = 0; index < 47; index++) {
    await addTeam(sql, `many-${index}`);
    await addMember(sql, `many-${index}`, { user: 'many', permissions: ['owner'] });
  }
  const created = await Promise.all(
    Array.from({ length: 10 }, () =>
      catalogue.teams.edits.create({ userId: 'many', ownedMax: 50 }, teamFields),
    ),
  );
  assert.is(created.filter(({ kind }) => kind === 'created').length, 3);

  for (let index = 0; index < 97; index++) await addPack(sql, `many-${index}`);
  await sql`update packs set owner_id = 'many'`;
  await addBot(sql, 'bot1');
  const packFields = { name: 'Pack', short: 'A pack of things.', tags: ['fun'], bots: ['bot1'], servers: [] };
  const packs = await Promise.all(
    Array.from({ length: 10 }, (_, index) =>
      catalogue.packs.edits.create({ userId: 'many', url: `new-${index}`, ownedMax: 100 }, packFields),
    ),
  );
  assert.is(packs.filter(({ kind }) => kind === 'done').length, 3);

  const teamId = await addNewTeam(['robin']);
  await sql`
    insert into users (id, username, display_name)
    select 'u' || n, 'u', 'u' from generate_series(1, 210) as n`;
  await sql`
    insert into team_members (team_id, user_id, itag)
    select ${teamId}, 'u' || n, gen_random_uuid() from generate_series(1, 196) as n`;
  const members = await Promise.all(
    [200, 201, 202, 203, 204, 205, 206, 207].map((n) =>
      catalogue.teams.members.add(
        { teamId, userId: `u${n}`, actor: actor('robin') },
        { permissions: [], membersMax: 200 },
      ),
    ),
  );
  assert.is(members.filter(({ kind }) => kind === 'done').length, 3);
});

test('of concurrent requests for a url or a vanity code, one succeeds', async () => {
  const fields = { name: 'Pack', short: 'A pack of things.', tags: ['fun'], bots: ['bot1'], servers: [] };
  for (let round = 0; round < rounds; round++) {
    const url = `wanted-${round}`;
    const packs = await Promise.all(
      users.map((userId) => catalogue.packs.edits.create({ userId, url, ownedMax: 100 }, fields)),
    );
    assert.is(packs.filter(({ kind }) => kind === 'done').length, 1);
    const ids = await Promise.all(users.map(() => addNewTeam(['robin'])));
    const codes = await Promise.all(ids.map((id) => catalogue.vanity.change({ kind: 'team', id }, url)));
    assert.is(codes.filter((outcome) => outcome === 'changed').length, 1);
  }
});

test('two teams that swap their codes at once are answered, and each has one code', async () => {
  for (let round = 0; round < rounds; round++) {
    const [left, right] = [await addNewTeam(['robin']), await addNewTeam(['robin'])];
    const outcomes = await Promise.all([
      catalogue.vanity.change({ kind: 'team', id: left }, `team-${right}`),
      catalogue.vanity.change({ kind: 'team', id: right }, `team-${left}`),
    ]);
    for (const outcome of outcomes) assertIncludes(['changed', 'taken'], outcome);
    const rows = await sql`select distinct code from vanity where target_id in (${left}, ${right})`;
    assert.is(rows.length, 2);
  }
});

/** Mints as the user wren, or with a session that wren minted. */
const mint = async (target: SessionTarget, fields: Partial<NewSession> = {}) => {
  const mintedBy = fields.mintedWith === undefined ? 'wren' : '';
  const session = newSession({ target, mintedBy, ...fields });
  const { kind: outcome } = await catalogue.sessions.insert(session, { apiSessionsMax: 100 });
  return { id: session.id, outcome };
};
const mintIn = (teamId: string, fields: Partial<NewSession> = {}) =>
  mint({ kind: 'team', id: teamId }, fields);

test('a session minted while its minter is removed does not outlive the membership', async () => {
  for (let round = 0; round < rounds; round++) {
    const teamId = await addNewTeam(['robin', 'wren']);
    const parent = await mintIn(teamId);
    const child = { mintedWith: parent.id };
    const removal = catalogue.teams.members.remove({ teamId, userId: 'wren', actor: actor('robin') });
    await Promise.all([mintIn(teamId), mintIn(teamId, child), mintIn(teamId), mintIn(teamId, child)]);

    assert.is((await removal).kind, 'removed');
    const rows = await sql`select from sessions where target_id = ${teamId}`;
    assert.is(rows.length, 0);
    assert.is((await mintIn(teamId, child)).outcome, 'refused');
  }
});

test('a session minted while its minter is demoted does not outlive the right to it', async () => {
  for (let round = 0; round < rounds; round++) {
    const teamId = await addNewTeam(['robin', 'wren']);
    const parent = await mintIn(teamId);
    const demotion = catalogue.teams.members.edit(
      { teamId, userId: 'wren', actor: actor('robin') },
      { ...unchanged, permissions: ['manage_sessions', 'edit_bots'] },
    );
    await Promise.all([
      mintIn(teamId),
      mintIn(teamId, { mintedWith: parent.id }),
      mintIn(teamId, { permLimits: ['owner'] }),
      mintIn(teamId, { permLimits: ['edit_bots', 'delete_bots'], mintedWith: parent.id }),
    ]);

    assert.is((await demotion).kind, 'done');
    const rows = await sql`select perm_limits from sessions where target_id = ${teamId}`;
    assert.is(rows.length, 0, JSON.stringify(rows));
    assert.is((await mintIn(teamId)).outcome, 'refused');
    assert.is((await mintIn(teamId, { permLimits: ['edit_bots'] })).outcome, 'created');
  }
});

test('no session stays when its bot changes teams while its minter is demoted', async () => {
  for (let round = 0; round < rounds; round++) {
    const [from, to] = [await addNewTeam(['robin', 'wren']), await addNewTeam(['robin', 'wren'])];
    const target = { kind: 'bot', id: `moving-${from}` } as const;
    await addBot(sql, target.id, { team_id: from });
    const demote = (teamId: string) =>
      catalogue.teams.members.edit(
        { teamId, userId: 'wren', actor: actor('robin') },
        { ...unchanged, permissions: ['manage_sessions'] },
      );
    await Promise.all([
      catalogue.bots.edits.transfer({ botId: target.id, actor: actor('robin') }, to),
      ...Array.from({ length: 4 }, () => mint(target)),
      demote(to),
      demote(from),
    ]);
    const rows = await sql`select from sessions where target_id = ${target.id}`;
    assert.is(rows.length, 0);
  }
});

test('a team token minted while its minter is banned does not outlive the ban', async () => {
  await addUser(sql, 'banished');
  for (let round = 0; round < rounds; round++) {
    const teamId = await addNewTeam(['robin', 'banished']);
    await catalogue.operator.people.setBan('banished', { ban: 'banned', value: false });
    const mintAsBanished = () => mintIn(teamId, { mintedBy: 'banished' });
    await mintAsBanished();
    await Promise.all([
      mintAsBanished(),
      catalogue.operator.people.setBan('banished', { ban: 'banned', value: true }),
      mintAsBanished(),
      mintAsBanished(),
      mintAsBanished(),
    ]);
    const rows = await sql`select from sessions where target_id = ${teamId}`;
    assert.is(rows.length, 0);
    assert.is((await mintAsBanished()).outcome, 'refused');
  }
});

test.run();
