/**
 * The catalogue of a fleet: an edit or a lost membership on one node takes effect on the other.
 */
import { createHash, randomBytes } from 'node:crypto';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { formatToken } from '../../../engine/rules/token.ts';
import { type Catalogue, createCatalogue } from '../../../storage/catalogue/catalogue.ts';
import type { NewSession, SessionTarget } from '../../../storage/catalogue/people/sessions.ts';
import { shareCatalogue } from '../../../storage/nodes/shared-catalogue.ts';
import { assertIncludes } from '../../support/assert-includes.ts';
import { startRedis } from '../../support/redis-server.ts';
import { until } from '../../support/until.ts';
import { addBot, addMember, addServer, addTeam, addUser, newSession } from '../catalogue/directory.ts';
import { type Node, openNode, openSessionSql } from './world.ts';

const test = suite('catalogue of a fleet');

const directory = await openSessionSql();
const { sql } = directory;
await addUser(sql, 'wren');
await addTeam(sql, 'team1');
await addMember(sql, 'team1', { user: 'robin', permissions: ['owner'] });
await addMember(sql, 'team1', { user: 'wren', permissions: ['manage_sessions', 'edit_bots'] });
const redis = await startRedis();
const nodes = [await openNode([redis.port], directory), await openNode([redis.port], directory)] as const;
const share = ({ signals: pubsub, sessions }: Node): Catalogue =>
  shareCatalogue(createCatalogue(sql), {
    pubsub,
    sessions,
    onWarning: (words, error) => {
      throw new Error(words, { cause: error });
    },
  });
const one = share(nodes[0]);
const other = share(nodes[1]);
test.after(async () => {
  for (const node of nodes) await node.close();
  await redis.dispose();
  await directory.close();
});

test('an edited profile is read again on the other node within a second', async () => {
  const before = await other.bots.find('bot1');
  assert.is(await other.bots.find('bot1'), before);

  one.bots.drop('bot1');

  await until('it is another one', async () => (await other.bots.find('bot1')) !== before, 1_000);
});

test('an edit without a message is read within a second, also while Redis is away', async () => {
  const edit = async (short: string): Promise<void> => {
    // A node that is killed after its commit, or an import.
    await sql`update bots set short = ${short} where bot_id = 'bot1'`;
    await until('it is read', async () => (await other.bots.find('bot1'))?.short === short, 1_000);
  };
  await edit('Without a message.');
  await redis.kill();
  await until('it is noticed', () => !nodes[1].signals.isConnected());
  await edit('Without Redis.');
  await redis.start();
  await until('both hear again', () => nodes.every(({ signals: pubsub }) => pubsub.isConnected()));
});

/** Mints a session that the other node then has in its own cache. Returns how that node finds it. */
const known = async (target: SessionTarget, fields: Partial<NewSession> = {}) => {
  const token = formatToken(target, randomBytes(32));
  const tokenHash = createHash('sha256').update(token).digest();
  const session = newSession({ target, tokenHash, mintedBy: 'wren', ...fields });
  assert.is((await one.sessions.insert(session, { apiSessionsMax: 10 })).kind, 'created');
  const { cache } = nodes[1];
  await until('it is kept', async () => {
    await cache.find(token);
    return !(cache.find(token) instanceof Promise);
  });
  return () => cache.find(token);
};

test('a session that is deleted or banned in SQL without a message ends within a second', async () => {
  const deleted = await known({ kind: 'bot', id: 'bot1' }, { mintedBy: 'robin' });
  await sql`delete from sessions where target_type = 'bot' and target_id = 'bot1'`;
  await until('it is dead', async () => (await deleted()) === null, 1_000);

  const banned = await known({ kind: 'user', id: 'wren' });
  await sql`update users set banned = true where id = 'wren'`;
  await until('it is banned', async () => (await banned())?.banned === true, 1_000);
  await sql`update users set banned = false where id = 'wren'`;
  await until('it is not any more', async () => (await banned())?.banned === false, 1_000);
});

test('tokens that a member minted for the team end on every node when the member is removed', async () => {
  const ofTeam = await known({ kind: 'team', id: 'team1' }, { permLimits: ['edit_bots'] });

  const removal = await one.teams.members.remove({
    teamId: 'team1',
    userId: 'wren',
    actor: { kind: 'user', id: 'robin', limits: [] },
  });

  assert.is(removal.kind, 'removed', JSON.stringify(removal));
  await until('it is dead', async () => (await ofTeam()) === null, 1_000);
});

test('tokens of a bot end on every node when it is transferred or deleted', async () => {
  const { sql } = directory;
  await addTeam(sql, 'team2');
  await addMember(sql, 'team2', { user: 'robin', permissions: ['owner'] });
  await addBot(sql, 'given');
  const request = { botId: 'given', actor: { kind: 'user', id: 'robin', limits: [] } } as const;
  for (const end of [() => one.bots.edits.transfer(request, 'team2'), () => one.bots.edits.remove(request)]) {
    const ofBot = await known({ kind: 'bot', id: 'given' }, { mintedBy: 'robin' });

    assertIncludes(['moved', 'done'], (await end()).kind);
    await until('it is dead', async () => (await ofBot()) === null, 1_000);
  }
});

test('tokens that a member minted end on every node when the member loses their permissions', async () => {
  const { sql } = directory;
  await addTeam(sql, 'team3');
  for (const user of ['robin', 'wren']) await addMember(sql, 'team3', { user, permissions: ['owner'] });
  const target = { kind: 'team', id: 'team3' } as const;
  const [unlimited, limited] = [await known(target), await known(target, { permLimits: ['edit_bots'] })];
  const demote = (permissions: readonly ('edit_bots' | 'edit_team')[]) =>
    one.teams.members.edit(
      { teamId: 'team3', userId: 'wren', actor: { kind: 'user', id: 'robin', limits: [] } },
      { permissions, dataHolder: null, mentionable: null },
    );

  assert.is((await demote(['edit_bots'])).kind, 'done');
  await until('the unlimited one is dead', async () => (await unlimited()) === null, 1_000);
  assert.ok(await limited());

  assert.is((await demote(['edit_team'])).kind, 'done');
  await until('the limited one is dead', async () => (await limited()) === null, 1_000);
});

test('a ban affects the team tokens and the bots of the user on every node', async () => {
  const { sql } = directory;
  await addTeam(sql, 'team4');
  await addMember(sql, 'team4', { user: 'wren', permissions: ['owner'] });
  await addBot(sql, 'of-team4', { team_id: 'team4' });
  await addBot(sql, 'of-wren', { owner_id: 'wren' });
  const ofTeam = await known({ kind: 'team', id: 'team4' });
  const ofTeamBot = await known({ kind: 'bot', id: 'of-team4' });
  const ofOwn = await known({ kind: 'bot', id: 'of-wren' });
  const { setBan } = one.operator.people;

  await setBan('wren', { ban: 'banned', value: true });
  await until('the team token is dead', async () => (await ofTeam()) === null, 1_000);
  await until('the bot is marked', async () => (await ofOwn())?.banned === true, 1_000);
  await until("the team's bot is marked", async () => (await ofTeamBot())?.banned === true, 1_000);

  await setBan('wren', { ban: 'banned', value: false });
  await until('the bot is free', async () => (await ofOwn())?.banned === false, 1_000);
  await until("the team's bot is free", async () => (await ofTeamBot())?.banned === false, 1_000);
});

test('tokens of a server end on every node when it moves to another team', async () => {
  const { sql } = directory;
  for (const team of ['team5', 'team6']) await addTeam(sql, team);
  await addMember(sql, 'team5', { user: 'wren', permissions: ['owner'] });
  await addServer(sql, 'server5', { team_id: 'team5' });
  const ofServer = await known({ kind: 'server', id: 'server5' });
  const fields = { name: 'Harbour', avatar: '', short: 'Where ships meet.', long: '', invite: '', tags: [] };
  const counts = { nsfw: false, state: 'public', totalMembers: 0, onlineMembers: 0 } as const;

  await one.operator.listings.putServer('server5', { ...fields, ...counts, teamId: 'team6' });

  await until('it is dead', async () => (await ofServer()) === null, 1_000);
});

test.run();
