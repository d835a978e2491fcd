/**
 * Profiles of bots, servers and teams, and their cache, on real SQL.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { StorageError } from '../../../engine/errors.ts';
import { findBot, findBots } from '../../../storage/catalogue/bots/bots.ts';
import { type Catalogue, createCatalogue } from '../../../storage/catalogue/catalogue.ts';
import { findServer, findServers } from '../../../storage/catalogue/lists/servers.ts';
import { createRowCache, createSnapshots } from '../../../storage/catalogue/shared/cache.ts';
import { addBot, addServer, addTeam, addUser, type Directory, openDirectory } from './directory.ts';

const test = suite('catalogue profiles');
let directory: Directory;
let catalogue: Catalogue;

test.before(async () => {
  directory = await openDirectory();
  const { sql } = directory;
  await addUser(sql, 'robin');
  await addTeam(sql, 'team1', 'keepers');
  await addBot(sql, 'bot1', { vanity: 'lighthouse', long: 'x'.repeat(1_000) });
  await addBot(sql, 'bot2', { vanity: 'windmill', team_id: 'team1', type: 'denied' });
  await addServer(sql, 'server1', { team_id: 'team1', state: 'private' });
});
test.before.each(() => {
  catalogue = createCatalogue(directory.sql);
});
test.after(() => directory.close());

test('a bot is found by id and by vanity code in any case', async () => {
  const byId = await catalogue.bots.find('bot1');
  const byCode = await catalogue.bots.find('LightHouse');

  assert.is(byId?.id, 'bot1');
  assert.is(byId?.owner?.id, 'robin');
  assert.is(byId?.team_id, null);
  assert.is(byCode, byId);
});

test('a bot of any type is found, and knows its team instead of an owner', async () => {
  const bot = await catalogue.bots.find('bot2');

  assert.is(bot?.type, 'denied');
  assert.is(bot?.team_id, 'team1');
  assert.is(bot?.owner, null);
});

test("another kind's vanity code finds nothing", async () => {
  assert.is(await catalogue.bots.find('keepers'), null);
  assert.is((await catalogue.teams.find('keepers'))?.id, 'team1');
  assert.is((await catalogue.servers.find('server-server1'))?.id, 'server1');
});

test('a cached profile is there at once', async () => {
  const first = await catalogue.bots.find('bot1');
  const second = catalogue.bots.find('bot1');

  assert.is(second, first);
});

test('simultaneous reads share one query', async () => {
  const [first, second] = await Promise.all([catalogue.bots.find('bot1'), catalogue.bots.find('bot1')]);

  assert.is(second, first);
});

test('an edit shows after the profile is dropped', async () => {
  await catalogue.bots.find('bot1');
  await directory.sql`update bots set short = 'New words.' where bot_id = 'bot1'`;

  catalogue.bots.drop('bot1');

  assert.is((await catalogue.bots.find('bot1'))?.short, 'New words.');
});

test('a vanity code that moved to another bot finds that one', async () => {
  const { sql } = directory;
  await catalogue.bots.find('windmill');
  await sql`update vanity set code = 'mill' where code = 'windmill'`;
  await sql`update vanity set code = 'windmill' where code = 'lighthouse'`;
  catalogue.bots.drop('bot1');
  catalogue.bots.drop('bot2');

  assert.is((await catalogue.bots.find('mill'))?.id, 'bot2');
  assert.is((await catalogue.bots.find('windmill'))?.id, 'bot1');
});

test('a load that began before a drop is answered but not kept', async () => {
  const cache = createRowCache<{ id: string; vanity: string; weightBytes: number }>({
    bytesMax: 1_000,
    ageMaxMs: 60_000,
  });
  let finish = (): void => {};
  const gate = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const old = { id: 'bot1', vanity: '', weightBytes: 1 };
  const fresh = { id: 'bot1', vanity: '', weightBytes: 1 };

  const early = cache.get('bot1', () => gate.then(() => old));
  cache.drop('bot1');
  const late = cache.get('bot1', async () => fresh);
  finish();

  assert.is(await early, old);
  assert.is(await late, fresh);
  assert.is(await cache.get('bot1', async () => null), fresh);
});

test('an old row is shown rather than none while SQL does not answer, unless it was dropped', async () => {
  const cache = createRowCache<{ id: string; vanity: string; weightBytes: number }>({
    bytesMax: 1_000,
    ageMaxMs: 1,
  });
  const row = { id: 'bot1', vanity: 'mill', weightBytes: 1 };
  const away = (): Promise<never> => Promise.reject(new Error('away'));
  const failing = (word: string) =>
    Promise.resolve(cache.get(word, away)).catch((error: Error) => error.message);
  await cache.get('bot1', async () => row);
  // Every read but a failing one finds it too old from now on.
  await new Promise((resolve) => setTimeout(resolve, 5));

  assert.is(await failing('bot1'), row);
  assert.is(await failing('mill'), row);
  assert.is(await cache.get('bot1', async () => null), null);
  assert.is(await failing('bot1'), 'away', 'SQL had said that it is gone');

  await cache.get('bot1', async () => row);
  cache.drop('bot1');
  assert.is(await failing('bot1'), 'away');
});

test('the cache holds no more than its bytes', async () => {
  const cache = createRowCache<{ id: string; vanity: string; weightBytes: number }>({
    bytesMax: 100,
    ageMaxMs: 60_000,
  });
  let loads = 0;
  const load = (id: string) => async () => {
    loads++;
    return { id, vanity: '', weightBytes: 60 };
  };
  await cache.get('one', load('one'));
  await cache.get('two', load('two'));
  await cache.get('one', load('one'));

  assert.is(loads, 3);
});

test('an unknown word is null and asked again', async () => {
  assert.is(await catalogue.bots.find('late'), null);
  await addBot(directory.sql, 'late');

  const other = createCatalogue(directory.sql);
  assert.is((await other.bots.find('late'))?.id, 'late');
  catalogue.bots.drop('late');
  assert.is((await catalogue.bots.find('late'))?.id, 'late');
});

test('a failure of SQL is a storage error and is not cached', async () => {
  const failing = createCatalogue(directory.sql, {});
  await directory.sql`alter table packs rename to packs_away`;
  const failure = await failing.packs.page(1).catch((error: Error) => error.name);
  await directory.sql`alter table packs_away rename to packs`;

  assert.is(failure, 'StorageError');
  assert.is((await failing.packs.page(1)).count, 0);
});

test('what may have missed an edit is asked for again, and shown while SQL does not answer', async () => {
  const cache = createRowCache<{ id: string; vanity: string; weightBytes: number }>({
    bytesMax: 1_000,
    ageMaxMs: 60_000,
  });
  const row = { id: 'bot1', vanity: 'mill', weightBytes: 1 };
  const edited = { ...row };
  const away = (): Promise<never> => Promise.reject(new Error('away'));
  await cache.get('bot1', async () => row);

  cache.invalidateAll();

  assert.is(await cache.get('bot1', away), row);
  assert.is(await cache.get('mill', away), row);
  assert.is(await cache.get('mill', async () => edited), edited);
  assert.is(cache.get('bot1', away), edited);
});

test('rows in use are read again in time, many in one statement, the same if equal', async () => {
  let nowMs = 0;
  const statements: (readonly string[])[] = [];
  const short: Record<string, string> = { one: 'As it was.', two: 'As it was.' };
  const rowOf = (id: string) => ({ id, vanity: '', weightBytes: 1, short: short[id] ?? '' });
  const cache = createRowCache<ReturnType<typeof rowOf>>({
    bytesMax: 1_000,
    ageMaxMs: 1_000,
    monotonicMs: () => nowMs,
    readMany: async (ids) => {
      statements.push(ids);
      return ids.filter((id) => short[id] !== undefined).map(rowOf);
    },
  });
  const ids = ['one', 'two', 'three', 'four'];
  for (const id of ids) await cache.get(id, async () => rowOf(id));
  const never = (): Promise<never> => Promise.reject(new Error('was asked for alone'));
  const look = () => ids.slice(0, 3).map((id) => cache.get(id, never));
  const before = look();

  nowMs = 699;
  look();
  assert.equal(statements, []);
  nowMs = 701;
  short.two = 'Edited by somebody who did not tell.';
  assert.equal(look(), before, 'nobody waits');
  await new Promise(setImmediate);
  assert.equal(statements, [['one'], ['two', 'three']], 'and what nobody asks for is left alone');

  nowMs = 1_001;
  const [one, two] = ids.slice(0, 2).map((id) => cache.get(id, never));
  assert.is(one, before[0]);
  assert.is((two as ReturnType<typeof rowOf>).short, short.two);
  assert.is(await cache.get('three', async () => null), null, 'gone with the statement that did not find it');

  nowMs = 9_000;
  const late = await Promise.all(['one', 'two', 'four'].map((id) => cache.get(id, async () => null)));
  assert.equal(statements.slice(2), [['one'], ['two', 'four']], 'what grew too old is read together, too');
  assert.is(late[0], before[0]);
  assert.is(late[2], null);
});

test('profiles of bots and servers that are read ahead are what one alone would be', async () => {
  const { sql } = directory;
  assert.equal([...(await findBots(sql, ['bot1', 'ghost']))], [await findBot(sql, 'bot1')]);
  assert.equal([...(await findServers(sql, ['server1']))], [await findServer(sql, 'server1')]);
});

test('the list shown last is shown on while SQL cannot be reached, and for no other failure', async () => {
  const snapshots = createSnapshots({ entriesMax: 10, ageMaxMs: 1 });
  const failing = (reason: 'unreachable' | 'bug') => () =>
    Promise.reject(new StorageError('list', { outcome: 'not_applied', reason }));
  const reasonOf = (shown: Promise<object>) =>
    shown.then(
      () => 'shown',
      (error: StorageError) => error.reason,
    );
  const list = { rows: [] };
  assert.is(await reasonOf(snapshots.get('a', failing('unreachable'))), 'unreachable', 'there is none yet');

  await new Promise((resolve) => setTimeout(resolve, 5));
  assert.is(await snapshots.get('a', async () => list), list);
  await new Promise((resolve) => setTimeout(resolve, 5));

  assert.is(await snapshots.get('a', failing('unreachable')), list);
  assert.is(await snapshots.show('a', failing('unreachable')), list);
  assert.is(await reasonOf(snapshots.show('a', failing('bug'))), 'bug');
  assert.is(await reasonOf(snapshots.show('b', failing('unreachable'))), 'unreachable');
});

test.run();
