/**
 * Profiles of bots, servers and teams, and their cache, on real SQL.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { StorageError } from '../../../engine/errors.ts';
import {
  type Catalogue,
  computeProfileBytesMax,
  createCatalogue,
} from '../../../storage/catalogue/catalogue.ts';
import {
  createRowCache,
  createSnapshots,
  type RowCacheOptions,
} from '../../../storage/catalogue/shared/cache.ts';
import { findBots, findServers } from '../../../storage/catalogue/shared/profiles.ts';
import { pluck } from '../../support/pluck.ts';
import { addBot, addServer, addTeam, addUser, openDirectory } from './directory.ts';

const test = suite('catalogue profiles');
let catalogue: Catalogue;

interface Row {
  readonly id: string;
  readonly vanity: string;
  readonly weightBytes: number;
}
/** A cache to which the test gives, with each request, what a statement then finds. */
const createTestCache = (options: Partial<RowCacheOptions<Row>> = {}) => {
  let load: () => Promise<Row | null> = async () => null;
  const readMany = async () => {
    const row = await load();
    return row === null ? [] : [row];
  };
  const cache = createRowCache<Row>({ bytesMax: 1_000, ageMaxMs: 60_000, ...options, readMany });
  const get = (name: string, next: typeof load) => {
    load = next;
    return cache.find(name);
  };
  return { ...cache, get };
};

const directory = await openDirectory();
const { sql } = directory;
await addUser(sql, 'robin');
await addTeam(sql, 'team1', 'keepers');
await addBot(sql, 'bot1', { vanity: 'lighthouse', long: 'x'.repeat(1_000) });
await addBot(sql, 'bot2', { vanity: 'windmill', team_id: 'team1', type: 'denied' });
await addServer(sql, 'server1', { team_id: 'team1', state: 'private' });
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

test("another kind's vanity code finds nothing", async () => {
  assert.is(await catalogue.bots.find('keepers'), null);
  assert.is((await catalogue.teams.find('keepers'))?.id, 'team1');
  assert.is((await catalogue.servers.find('server-server1'))?.id, 'server1');
});

test('a cached profile is returned synchronously', async () => {
  const first = await catalogue.bots.find('bot1');
  const second = catalogue.bots.find('bot1');

  assert.is(second, first);
});

test('simultaneous reads share one query', async () => {
  const [first, second] = await Promise.all([catalogue.bots.find('bot1'), catalogue.bots.find('bot1')]);

  assert.is(second, first);
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
  await sql`update vanity set code = 'lighthouse' where code = 'windmill'`;
  await sql`update vanity set code = 'windmill' where code = 'mill'`;
});

test('a load that began before a drop is answered but not cached', async () => {
  const cache = createTestCache();
  let finish = (): void => {};
  const finished = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const old = { id: 'bot1', vanity: '', weightBytes: 1 };
  const fresh = { id: 'bot1', vanity: '', weightBytes: 1 };

  const early = cache.get('bot1', () => finished.then(() => old));
  cache.drop('bot1');
  const late = cache.get('bot1', async () => fresh);
  finish();

  assert.is(await early, old);
  assert.is(await late, fresh);
  assert.is(await cache.get('bot1', async () => null), fresh);
});

test('an expired row is served while SQL does not answer, unless it was dropped', async () => {
  const cache = createTestCache({ ageMaxMs: 1 });
  const row = { id: 'bot1', vanity: 'mill', weightBytes: 1 };
  const away = (): Promise<never> => Promise.reject(new Error('away'));
  const failing = (name: string) =>
    Promise.resolve(cache.get(name, away)).catch((error: Error) => error.message);
  await cache.get('bot1', async () => row);
  // From now on the row is expired; only a failing load may still return it.
  await new Promise((resolve) => setTimeout(resolve, 5));

  assert.is(await failing('bot1'), row);
  assert.is(await failing('mill'), row);
  assert.is(await cache.get('bot1', async () => null), null);
  assert.is(await failing('bot1'), 'away', 'SQL said that it does not exist');

  await cache.get('bot1', async () => row);
  cache.drop('bot1');
  assert.is(await failing('bot1'), 'away');
});

test('the cache keeps no more rows than fit in its bytes', async () => {
  const cache = createTestCache({ bytesMax: 100 });
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

test('profiles take an eighth of the heap, within bounds', () => {
  const mebibytes = (count: number): number => count * 1_048_576;

  assert.is(computeProfileBytesMax(mebibytes(64)), mebibytes(16));
  assert.is(computeProfileBytesMax(mebibytes(256)), mebibytes(32));
  assert.is(computeProfileBytesMax(mebibytes(2_048)), mebibytes(256));
  assert.is(computeProfileBytesMax(mebibytes(65_536)), mebibytes(512));
});

test('an unknown name is null and is looked up again', async () => {
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

test('rows in use are refreshed in time, many in one statement; an equal row keeps its object', async () => {
  let nowMs = 0;
  const statements: (readonly string[])[] = [];
  const ids = ['one', 'two', 'three', 'four'];
  let short: Record<string, string> = Object.fromEntries(ids.map((id) => [id, 'Unchanged.']));
  const makeRow = (id: string) => ({ id, vanity: '', weightBytes: 1, short: short[id] ?? '' });
  const cache = createRowCache<ReturnType<typeof makeRow>>({
    bytesMax: 1_000,
    ageMaxMs: 1_000,
    monotonicMs: () => nowMs,
    readMany: async (ids) => {
      statements.push(ids);
      return ids.filter((id) => short[id] !== undefined).map(makeRow);
    },
  });
  for (const id of ids) await cache.find(id);
  const read = () => ids.slice(0, 3).map((id) => cache.find(id));
  const before = read();

  nowMs = 699;
  read();
  assert.is(statements.splice(0).length, ids.length);
  nowMs = 701;
  short = { one: 'Unchanged.', two: 'Edited without a notification.' };
  assert.equal(read(), before, 'no reader waits');
  await new Promise(setImmediate);
  assert.equal(statements, [ids], 'all that are about as old');
  assert.is(cache.find('one'), before[0]);
  assert.is((cache.find('two') as ReturnType<typeof makeRow>).short, short.two);
  assert.is(await cache.find('three'), null, 'removed by the statement that did not find it');

  nowMs = 9_000;
  const late = await Promise.all(['one', 'two'].map((id) => cache.find(id)));
  assert.equal(statements.slice(2), [['one'], ['two']], 'rows without requests expire');
  assert.is(late[0], before[0]);
});

test('many names cost few statements, and each finds its own profile or none', async () => {
  const { sql } = directory;
  const statements: (readonly string[])[] = [];
  const cache = createRowCache({
    bytesMax: 1_000_000,
    ageMaxMs: 60_000,
    readMany: (names) => {
      statements.push(names);
      return findBots(sql, names);
    },
  });
  const unknown = Array.from({ length: 98 }, (_, index) => `ghost${index}`);
  const [first, byId, byCode, ...none] = await Promise.all(
    ['bot1', 'bot2', 'WindMill', ...unknown].map((name) => cache.find(name)),
  );

  assert.equal([first?.id, byId?.id, byCode?.id], ['bot1', 'bot2', 'bot2']);
  assert.equal(new Set(none), new Set([null]));
  assert.equal(pluck(statements, 'length'), [1, 100]);
  assert.equal(pluck(await findServers(sql, ['server1', 'ghost', 'server-server1']), 'id'), ['server1']);
});

test('an id comes before a vanity code of the same text', async () => {
  const { sql } = directory;
  await addBot(sql, 'mirror', { vanity: 'mirror-code' });
  await addBot(sql, 'other', { vanity: 'mirror' });

  const both = await Promise.all(['mirror', 'other'].map((name) => createCatalogue(sql).bots.find(name)));

  assert.equal([both[0]?.id, both[1]?.id], ['mirror', 'other']);
});

test('the last snapshot is served while SQL is unreachable, and after no other failure', async () => {
  const snapshots = createSnapshots({ entriesMax: 10, ageMaxMs: 1 });
  const failing = (reason: 'unreachable' | 'bug') => () =>
    Promise.reject(new StorageError('list', { outcome: 'not_applied', reason }));
  const endOf = (result: Promise<object>) =>
    result.then(
      () => 'served',
      (error: StorageError) => error.reason,
    );
  const list = { rows: [] };
  assert.is(
    await endOf(snapshots.get('a', failing('unreachable'))),
    'unreachable',
    'there is no snapshot yet',
  );

  await new Promise((resolve) => setTimeout(resolve, 5));
  assert.is(await snapshots.get('a', async () => list), list);
  await new Promise((resolve) => setTimeout(resolve, 5));

  assert.is(await snapshots.get('a', failing('unreachable')), list);
  assert.is(await snapshots.show('a', failing('unreachable')), list);
  assert.is(await endOf(snapshots.show('a', failing('bug'))), 'bug');
  assert.is(await endOf(snapshots.show('b', failing('unreachable'))), 'unreachable');
});

test.run();
