/**
 * Which sessions end, or are refused, when a right to them ends: on the embedded SQL and on a Postgres
 * server.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { MemberChange, TeamActor } from '../../../engine/rules/members.ts';
import type { ServerFields } from '../../../storage/catalogue/bots/listing-edits.ts';
import { type Catalogue, createCatalogue } from '../../../storage/catalogue/catalogue.ts';
import type { SessionTarget } from '../../../storage/catalogue/people/sessions.ts';
import { migrate } from '../../../storage/sql/migrate.ts';
import { openServerSql } from '../../../storage/sql/server.ts';
import { assertExcludes, assertIncludes } from '../../support/assert-includes.ts';
import { startPostgres } from '../../support/postgres-server.ts';
import {
  addBot,
  addMember,
  addServer,
  addTeam,
  addUser,
  type Directory,
  newSession,
  openDirectory,
} from './directory.ts';

const test = suite('reach of sessions');

const openOnServer = async (): Promise<Directory> => {
  const server = await startPostgres();
  const opened = await openServerSql(await server.database('reach'));
  await migrate(opened.sql);
  return {
    sql: opened.sql,
    close: async () => {
      await opened.close();
      await server.close();
    },
  };
};

interface Store {
  readonly directory: Directory;
  readonly catalogue: Catalogue;
}
interface Minted {
  readonly id: string;
  readonly tokenHash: Buffer;
  readonly outcome: string;
}

const stores = new Map<string, Store>();
const openers = { embedded: openDirectory, postgres: openOnServer };
for (const [name, open] of Object.entries(openers)) {
  const directory = await open();
  for (const user of ['robin', 'wren', 'finch']) await addUser(directory.sql, user);
  stores.set(name, { directory, catalogue: createCatalogue(directory.sql) });
}
test.after(async () => {
  for (const { directory } of stores.values()) await directory.close();
});

let teamsOpened = 0;
const actor = (id: string): TeamActor => ({ kind: 'user', id, limits: [] });
const unchanged: MemberChange = { permissions: null, dataHolder: null, mentionable: null };

/** Creates a team of two owners with a bot and a server, and the actions of the tests. */
const openTeam = async (store: string) => {
  const { directory, catalogue } = stores.get(store) as Store;
  const { sql } = directory;
  const teamId = `team-${++teamsOpened}`;
  await addTeam(sql, teamId);
  for (const user of ['robin', 'wren']) await addMember(sql, teamId, { user, permissions: ['owner'] });
  await sql`update team_members set data_holder = true where team_id = ${teamId}`;
  const team: SessionTarget = { kind: 'team', id: teamId };
  const bot: SessionTarget = { kind: 'bot', id: `bot-${teamsOpened}` };
  const server: SessionTarget = { kind: 'server', id: `server-${teamsOpened}` };
  await addBot(sql, bot.id, { team_id: teamId });
  await addServer(sql, server.id, { team_id: teamId });
  const mint = async (
    target: SessionTarget,
    permLimits: readonly string[],
    by: { readonly user: string } | { readonly session: Minted } = { user: 'wren' },
  ): Promise<Minted> => {
    const minter = 'user' in by ? { mintedBy: by.user } : { mintedBy: '', mintedWith: by.session.id };
    const session = newSession({ target, permLimits, ...minter });
    const { kind: outcome } = await catalogue.sessions.insert(session, { apiSessionsMax: 100 });
    return { id: session.id, tokenHash: session.tokenHash, outcome };
  };
  const lives = async ({ tokenHash }: Minted): Promise<boolean> =>
    (await catalogue.sessions.byTokenHash(tokenHash)) !== null;
  const edit = (permissions: MemberChange['permissions'], by = 'robin', userId = 'wren') =>
    catalogue.teams.members.edit(
      { teamId, userId, actor: actor(by) },
      permissions === null ? { ...unchanged, mentionable: true } : { ...unchanged, permissions },
    );
  return { sql, catalogue, teamId, team, bot, server, mint, lives, edit };
};

for (const store of Object.keys(openers)) {
  test(`${store}: an owner who is demoted loses sessions with all permissions`, async () => {
    const { team, bot, server, mint, lives, edit } = await openTeam(store);
    const all = [
      await mint(team, []),
      await mint(bot, []),
      await mint(server, []),
      await mint(team, ['owner']),
    ];
    const child = await mint(bot, ['owner'], { session: all[0] as Minted });
    const others = await mint(team, [], { user: 'robin' });
    const own = await mint({ kind: 'user', id: 'wren' }, []);

    const outcome = await edit(['edit_bots', 'manage_sessions']);

    assert.is(outcome.kind, 'done');
    const ended = [...all, child];
    assert.equal(
      'revoked' in outcome && [...outcome.revoked].sort(),
      ended.map(({ id }) => id).sort(),
      'the result lists them, so that the caller can drop them',
    );
    for (const session of ended) assert.not.ok(await lives(session));
    assert.ok(await lives(others));
    assert.ok(await lives(own));
  });

  test(`${store}: a limited session ends with any permission it has, and only then`, async () => {
    const { team, bot, mint, lives, edit } = await openTeam(store);
    const remaining = [await mint(team, ['edit_team']), await mint(bot, ['edit_bots', 'edit_team'])];
    const lost = [await mint(bot, ['edit_bots', 'delete_bots']), await mint(team, ['delete_bots'])];

    await edit(['edit_team', 'edit_bots', 'manage_sessions']);

    for (const session of remaining) assert.ok(await lives(session));
    for (const session of lost) assert.not.ok(await lives(session));
    await edit(['edit_team', 'manage_sessions', 'delete_bots']);
    assert.equal([await lives(remaining[0] as Minted), await lives(remaining[1] as Minted)], [true, false]);
  });

  test(`${store}: owners who demote themselves, grow, or change nothing are treated alike`, async () => {
    const { team, mint, lives, edit } = await openTeam(store);
    const session = await mint(team, []);
    await edit(['owner', 'edit_bots']);
    await edit(null);
    assert.ok(await lives(session));
    assert.is((await edit(['edit_bots'], 'wren')).kind, 'done');

    assert.not.ok(await lives(session));
  });

  test(`${store}: a refused demotion ends no session`, async () => {
    const { sql, team, teamId, mint, lives, edit } = await openTeam(store);
    await sql`
      update team_members set permissions = '{edit_team_members}'
      where team_id = ${teamId} and user_id = 'robin'`;
    const session = await mint(team, []);

    assert.is((await edit(['edit_bots'])).kind, 'refused');
    assert.is((await edit(['edit_bots'], 'wren')).kind, 'refused');

    assert.ok(await lives(session));
  });

  test(`${store}: when the last owner leaves, their sessions end, and those of the heirs stay`, async () => {
    const { team, bot, server, teamId, catalogue, mint, lives, edit } = await openTeam(store);
    await edit(['manage_sessions', 'edit_bots'], 'robin', 'robin');
    const leaving = [await mint(team, []), await mint(bot, ['edit_bots']), await mint(server, [])];
    const heirs = await mint(bot, ['edit_bots'], { user: 'robin' });

    const outcome = await catalogue.teams.members.remove({ teamId, userId: 'wren', actor: actor('wren') });

    assert.is(outcome.kind, 'removed');
    for (const session of leaving) assert.not.ok(await lives(session));
    assert.ok(await lives(heirs));
  });

  test(`${store}: a new session has no more permissions than the member who mints it`, async () => {
    const { sql, team, teamId, bot, mint, edit } = await openTeam(store);
    const parent = await mint(team, []);
    await sql`
      update team_members set permissions = '{manage_sessions,edit_bots}'
      where team_id = ${teamId} and user_id = 'wren'`;

    for (const by of [{ user: 'wren' }, { session: parent }]) {
      assert.is((await mint(team, [], by)).outcome, 'refused');
      assert.is((await mint(bot, ['owner'], by)).outcome, 'refused');
      assert.is((await mint(bot, ['edit_bots', 'delete_bots'], by)).outcome, 'refused');
      assert.is((await mint(bot, ['edit_bots'], by)).outcome, 'created');
    }
    await edit(['edit_bots']);
    assert.is((await mint(bot, ['edit_bots'])).outcome, 'refused');
  });

  test(`${store}: sessions of a bot or server end when it changes teams, and not otherwise`, async () => {
    const from = await openTeam(store);
    const to = await openTeam(store);
    const [botSession, serverSession] = [await from.mint(from.bot, []), await from.mint(from.server, [])];
    const { catalogue, lives } = from;
    const fields: ServerFields = {
      ...{ name: 'Harbour', avatar: '', short: 'Where ships meet.', long: '', invite: '', tags: [] },
      ...{ nsfw: false, state: 'public', totalMembers: 0, onlineMembers: 0, teamId: from.teamId },
    };
    const { putServer } = catalogue.operator.listings;
    assert.is(await putServer(from.server.id, fields), 'changed');
    assert.ok(await lives(serverSession));

    assert.is(await putServer(from.server.id, { ...fields, teamId: to.teamId }), 'changed');
    const request = { botId: from.bot.id, actor: actor('wren') };
    assert.is((await catalogue.bots.edits.transfer(request, to.teamId)).kind, 'moved');

    assert.not.ok(await lives(serverSession));
    assert.not.ok(await lives(botSession));
  });

  test(`${store}: sessions of a bot, server and team end with it`, async () => {
    const { catalogue, teamId, team, bot, server, mint, lives } = await openTeam(store);
    const sessions = [await mint(bot, []), await mint(server, []), await mint(team, [])];
    await catalogue.bots.edits.remove({ botId: bot.id, actor: actor('wren') });
    await catalogue.operator.listings.remove({ kind: 'server', id: server.id });

    assert.is((await catalogue.teams.edits.remove({ teamId, actor: actor('wren') })).kind, 'done');

    for (const session of sessions) assert.not.ok(await lives(session));
  });

  test(`${store}: a ban ends the team tokens a user minted, and marks those of their bots`, async () => {
    const { sql, catalogue, team, bot, server, mint, lives } = await openTeam(store);
    const { setBan } = catalogue.operator.people;
    const own: SessionTarget = { kind: 'bot', id: `own-${teamsOpened}` };
    await addBot(sql, own.id, { owner_id: 'wren' });
    const teams = await mint(team, []);
    const marked = [await mint(own, []), await mint(bot, []), await mint(server, [])];
    const others = [await mint(team, [], { user: 'robin' }), await mint(bot, [], { user: 'robin' })];
    const banned = async ({ tokenHash }: Minted) => (await catalogue.sessions.byTokenHash(tokenHash))?.banned;

    const { sessions } = await setBan('wren', { ban: 'banned', value: true });

    assert.not.ok(await lives(teams));
    for (const session of [teams, ...marked]) assertIncludes(sessions, session.id, 'the result lists it');
    for (const session of marked) assert.is(await banned(session), true);
    for (const session of others) {
      assert.is(await banned(session), false);
      assertExcludes(sessions, session.id);
    }
    assert.is((await mint(team, [])).outcome, 'refused');

    const again = await setBan('wren', { ban: 'banned', value: false });
    for (const session of marked) {
      assert.is(await banned(session), false);
      assertIncludes(again.sessions, session.id);
    }
    await setBan('wren', { ban: 'vote_banned', value: true });
    for (const session of marked) {
      assert.is((await catalogue.sessions.byTokenHash(session.tokenHash))?.voteBanned, false);
    }
    await setBan('wren', { ban: 'vote_banned', value: false });
  });
}

test.run();
