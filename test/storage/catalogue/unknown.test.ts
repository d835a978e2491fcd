/**
 * The cache of unknown names: which statements it saves, and that a name which was created does not stay
 * unknown.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type Catalogue, createCatalogue } from '../../../storage/catalogue/catalogue.ts';
import { createRowCache } from '../../../storage/catalogue/shared/cache.ts';
import {
  createLookUp,
  createNamesOfKind,
  createUnknownNames,
  unknownMs,
} from '../../../storage/catalogue/unknown.ts';
import { addBot, addTeam, addUser, openDirectory } from './directory.ts';

const test = suite('unknown names');
const directory = await openDirectory();
await addUser(directory.sql, 'robin');
await addTeam(directory.sql, 'team1', 'keepers');
test.after(() => directory.close());

/** A lookup whose results the test provides, with a clock of its own. */
const makeWorld = () => {
  const state = { nowMs: 0 };
  const loads: { name: string; resolve(row: string | null): void; reject(error: Error): void }[] = [];
  const unknown = createUnknownNames(() => state.nowMs);
  const load = (name: string): Promise<string | null> =>
    new Promise((resolve, reject) => loads.push({ name, resolve, reject }));
  const find = createLookUp(createNamesOfKind(unknown, 'code'), {
    none: null,
    isNone: (row) => row === null,
    load,
  });
  return { state, loads, unknown, find };
};

test('simultaneous lookups share one, and an unknown name is not looked up again for a while', async () => {
  const { state, loads, find } = makeWorld();
  const both = [find('mill'), find('mill')];
  loads[0]?.resolve(null);

  assert.equal(await Promise.all(both), [null, null]);
  state.nowMs = unknownMs - 1;
  assert.is(await find('mill'), null);
  assert.is(loads.length, 1);
  state.nowMs = unknownMs;
  const again = find('mill');
  loads[1]?.resolve('bot1');
  assert.is(await again, 'bot1');
});

test('the time that a name stays unknown begins before the statement, however long that takes', async () => {
  const { state, loads, find } = makeWorld();
  const first = find('mill');
  state.nowMs = unknownMs;
  loads[0]?.resolve(null);
  await first;

  void find('mill');
  assert.is(loads.length, 2);
});

test('a lookup that began before a commit is neither stored nor shared after it', async () => {
  const { loads, unknown, find } = makeWorld();
  const before = find('mill');
  unknown.forgetAll();
  const after = find('mill');
  loads[1]?.resolve('bot1');
  assert.is(await after, 'bot1');
  loads[0]?.resolve(null);
  assert.is(await before, null);

  const later = find('mill');
  loads[2]?.resolve('bot1');
  assert.is(await later, 'bot1');
});

test('a failure is not an unknown name', async () => {
  const { loads, find } = makeWorld();
  const first = find('mill');
  loads[0]?.reject(new Error('away'));
  assert.is(await first.catch((error: Error) => error.message), 'away');

  void find('mill');
  assert.is(loads.length, 2);
});

test('kinds have separate names, long names are not stored, and the oldest are evicted', async () => {
  const unknown = createUnknownNames(() => 0);
  const [bots, teams] = [createNamesOfKind(unknown, 'bot'), createNamesOfKind(unknown, 'team')];
  bots.beginLookUp('mill')();
  assert.is(bots.has('mill'), true);
  assert.is(teams.has('mill'), false);
  bots.beginLookUp('x'.repeat(10_000))();
  assert.is(bots.has('x'.repeat(10_000)), false);

  for (let number = 0; number < 30_000; number++) teams.beginLookUp(`team${number}`)();
  assert.is(bots.has('mill'), false);
  assert.is(teams.has('team29999'), true);
});

test('a refresh that finds no row does not make the id an unknown name', async () => {
  const unknown = createUnknownNames();
  const nowMs = { value: 0 };
  let rows = [{ id: 'mill', vanity: '', weightBytes: 1 }];
  const cache = createRowCache({
    bytesMax: 1_000,
    ageMaxMs: 1_000,
    unknown,
    monotonicMs: () => nowMs.value,
    readMany: async () => rows,
  });
  await cache.find('mill');
  nowMs.value = 800;
  rows = [];
  void cache.find('mill');
  await new Promise(setImmediate);

  assert.is(unknown.has('mill'), false);
  rows = [{ id: 'bot2', vanity: 'mill', weightBytes: 1 }];
  assert.is(await cache.find('mill'), rows[0]);
});

test('a lookup of a row that began before a commit is not shared after it', async () => {
  const unknown = createUnknownNames();
  const row = { id: 'mill', vanity: '', weightBytes: 1 };
  const replies: ((rows: (typeof row)[]) => void)[] = [];
  const cache = createRowCache<typeof row>({
    bytesMax: 1_000,
    ageMaxMs: 1_000,
    unknown,
    readMany: () => new Promise((resolve) => replies.push(resolve)),
  });
  const before = cache.find('mill');
  unknown.forgetAll();
  const after = cache.find('mill');
  replies[0]?.([]);
  assert.is(await before, null);
  await new Promise(setImmediate);
  replies[1]?.([row]);

  assert.is(await after, row);
});

/** Counts the statements that reach SQL: each lookup is one statement. */
const countStatements = async (task: (catalogue: Catalogue) => Promise<unknown>): Promise<number> => {
  let statements = 0;
  const sql = new Proxy(directory.sql, {
    apply: (target, self, args) => {
      if (Array.isArray(args[0]) && args[0].join('').includes('where ')) statements += 1;
      return Reflect.apply(target, self, args);
    },
  });
  await task(createCatalogue(sql));
  return statements;
};

test('a thousand lookups of unknown names of each kind cost few statements', async () => {
  const lookups: ((catalogue: Catalogue) => unknown)[] = [
    ({ bots }) => bots.find('missing'),
    ({ servers }) => servers.find('missing'),
    ({ teams }) => teams.find('missing'),
    ({ packs }) => packs.find('missing'),
    ({ vanity }) => vanity.findByCode('missing'),
  ];
  for (const lookUp of lookups) {
    const count = await countStatements(async (catalogue) => {
      for (let number = 0; number < 1_000; number++) await lookUp(catalogue);
    });
    assert.ok(count > 0 && count < 100, `${count} statements: ${lookUp}`);
  }
});

test('what this node creates or renames is visible at once, and soon on another node', async () => {
  const here = createCatalogue(directory.sql);
  const there = createCatalogue(directory.sql);
  await addBot(directory.sql, 'bot7', { vanity: 'lantern' });
  for (const { vanity, bots } of [here, there]) {
    assert.is(await vanity.findByCode('windmill'), null);
    assert.is(await bots.find('windmill'), null);
  }

  assert.is(await here.vanity.change({ kind: 'bot', id: 'bot7' }, 'windmill'), 'changed');
  assert.is((await here.vanity.findByCode('windmill'))?.target_id, 'bot7');
  assert.is((await here.bots.find('windmill'))?.id, 'bot7');
  while (
    (await there.vanity.findByCode('windmill')) === null ||
    (await there.bots.find('windmill')) === null
  ) {
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
});

test('a created name is visible before its transaction is acknowledged', async () => {
  const { teams, sql } = createCatalogue(directory.sql);
  assert.is(await teams.find('team9'), null);
  const reading = teams.find('team9');
  await sql.begin(async (transaction) => {
    await addTeam(transaction as unknown as typeof sql, 'team9', 'menders');
  });

  assert.is((await teams.find('team9'))?.id, 'team9');
  await reading;
  assert.is((await teams.find('team9'))?.id, 'team9');
});

test.run();
