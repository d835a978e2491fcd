/**
 * Sessions and permissions on real SQL.
 */
import { createHash } from 'node:crypto';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createCatalogue } from '../../../storage/catalogue/catalogue.ts';
import type { NewSession } from '../../../storage/catalogue/people/sessions.ts';
import { pluck } from '../../support/pluck.ts';
import {
  addBot,
  addMember,
  addPack,
  addServer,
  addTeam,
  addUser,
  newSession,
  openDirectory,
  uuid,
} from './directory.ts';

const test = suite('catalogue sessions');
let minted = 0;

const computeHash = (text: string): Buffer => createHash('sha256').update(text).digest();
/** Later ones have larger ids, as lists show them in this order. */
const session = (fields: Parameters<typeof newSession>[0]): NewSession =>
  newSession({ id: uuid(++minted), permLimits: ['edit_bots'], lastsSeconds: 60, ...fields });

const directory = await openDirectory();
const { sql } = directory;
await addUser(sql, 'robin');
await addUser(sql, 'wren', { banned: true, vote_banned: true });
await addTeam(sql, 'team1');
await addMember(sql, 'team1', { user: 'robin', permissions: ['manage_sessions', 'edit_bots'] });
await addBot(sql, 'bot1');
await addBot(sql, 'bot2', { team_id: 'team1' });
await addServer(sql, 'server1', { team_id: 'team1' });
await addPack(sql, 'pack1');
const catalogue = createCatalogue(sql);
test.after(() => directory.close());

test('a session is found by the hash of its token, with its limits and expiry', async () => {
  const made = session({ target: { kind: 'bot', id: 'bot1' }, permLimits: ['edit_bots'] });
  const before = Date.now();
  await catalogue.sessions.insert(made, { apiSessionsMax: 100 });

  const found = await catalogue.sessions.byTokenHash(made.tokenHash);

  assert.is(found?.sessionId, made.id);
  assert.is(found?.kind, 'bot');
  assert.equal(found?.limits, ['edit_bots']);
  assert.is(found?.banned, false);
  assert.ok((found?.expiresAtMs ?? 0) >= before + 59_000);
  assert.is(await catalogue.sessions.byTokenHash(computeHash('another')), null);
});

test('look-ups of many tokens at once share a few statements, and each gets its own answer', async () => {
  const made = Array.from({ length: 40 }, () => session({ target: { kind: 'bot', id: 'bot1' } }));
  for (const one of made) await catalogue.sessions.insert(one, { apiSessionsMax: 100 });
  let statements = 0;
  const counting = new Proxy(sql, {
    apply: (target, self, args) => {
      statements += 1;
      return Reflect.apply(target, self, args);
    },
  });
  const { byTokenHash } = createCatalogue(counting).sessions;

  const found = await Promise.all([
    ...made.map(({ tokenHash }) => byTokenHash(tokenHash)),
    byTokenHash(computeHash('another')),
  ]);

  assert.equal(
    found.map((one) => one?.sessionId ?? null),
    [...made.map(({ id }) => id), null],
  );
  assert.ok(statements <= 3, `${statements} statements`);
});

test("a user's session shows that they are banned, and banned from voting", async () => {
  const made = session({ target: { kind: 'user', id: 'wren' }, type: 'login' });
  await catalogue.sessions.insert(made, { apiSessionsMax: 100 });

  const found = await catalogue.sessions.byTokenHash(made.tokenHash);

  assert.is(found?.banned, true);
  assert.is(found?.voteBanned, true);
});

test('a list has the unexpired sessions of one entity, newest first', async () => {
  const target = { kind: 'team', id: 'team1' } as const;
  await catalogue.sessions.insert(session({ target, name: 'one' }), { apiSessionsMax: 100 });
  await catalogue.sessions.insert(session({ target, name: 'two' }), { apiSessionsMax: 100 });
  await catalogue.sessions.insert(session({ target, name: 'gone', lastsSeconds: -1 }), {
    apiSessionsMax: 100,
  });

  const rows = await catalogue.sessions.list(target);

  assert.equal(pluck(rows, 'name'), ['two', 'one']);
});

test('the cap counts unexpired API sessions and is exact when many are created at once', async () => {
  const target = { kind: 'server', id: 'server1' } as const;
  await catalogue.sessions.insert(session({ target, lastsSeconds: -1 }), { apiSessionsMax: 3 });
  await catalogue.sessions.insert(session({ target, type: 'login' }), { apiSessionsMax: 3 });

  const outcomes = await Promise.all(
    Array.from({ length: 8 }, () => catalogue.sessions.insert(session({ target }), { apiSessionsMax: 3 })),
  );

  assert.is(outcomes.filter(({ kind }) => kind === 'created').length, 3);
  assert.is(outcomes.filter(({ kind }) => kind === 'limit_reached').length, 5);
});

test('a session minted with a token has the minter of that token', async () => {
  const target = { kind: 'bot', id: 'bot2' } as const;
  const parent = session({ target, mintedBy: 'robin' });
  const child = session({ target, mintedBy: '', mintedWith: parent.id });
  await catalogue.sessions.insert(parent, { apiSessionsMax: 100 });
  await catalogue.sessions.insert(child, { apiSessionsMax: 100 });

  const [row] = await directory.sql`select minted_by from sessions where id = ${child.id}`;

  assert.is(row?.minted_by, 'robin');
});

test('a revoked session ends; a session of another entity stays', async () => {
  const made = session({ target: { kind: 'bot', id: 'bot1' } });
  await catalogue.sessions.insert(made, { apiSessionsMax: 100 });

  assert.is(await catalogue.sessions.remove({ kind: 'bot', id: 'bot2' }, made.id), false);
  assert.is(await catalogue.sessions.remove({ kind: 'bot', id: 'bot1' }, made.id), true);
  assert.is(await catalogue.sessions.remove({ kind: 'bot', id: 'bot1' }, made.id), false);
  assert.is(await catalogue.sessions.byTokenHash(made.tokenHash), null);
});

test('permissions come from ownership or membership, and unknown entities are null', async () => {
  const granted = ['manage_sessions', 'edit_bots'];

  assert.equal(await catalogue.findAccess('bot', 'bot1', 'robin'), {
    teamId: null,
    permissions: ['owner'],
  });
  assert.equal(await catalogue.findAccess('bot', 'bot1', 'wren'), { teamId: null, permissions: [] });
  assert.equal(await catalogue.findAccess('bot', 'bot2', 'robin'), { teamId: 'team1', permissions: granted });
  assert.equal(await catalogue.findAccess('bot', 'bot2', ''), { teamId: 'team1', permissions: [] });
  assert.equal(await catalogue.findAccess('server', 'server1', 'robin'), {
    teamId: 'team1',
    permissions: granted,
  });
  assert.equal(await catalogue.findAccess('team', 'team1', 'wren'), { teamId: 'team1', permissions: [] });
  assert.equal(await catalogue.findAccess('pack', 'pack1', 'robin'), {
    teamId: null,
    permissions: ['owner'],
  });
  for (const kind of ['bot', 'server', 'team', 'pack'] as const) {
    assert.is(await catalogue.findAccess(kind, 'unknown', 'robin'), null);
  }
});

test.run();
