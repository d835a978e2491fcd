/**
 * Orders of the long lists on the embedded store: after any edits their pages equal those of a plain
 * statement.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createRandom } from '../../../bench/shared/random.ts';
import { createListOrders } from '../../../storage/catalogue/lists/list-order.ts';
import type { ListName } from '../../../storage/catalogue/lists/list-segments.ts';
import { addBot, addTeam, addUser, openDirectory } from './directory.ts';
import { editList, plainList, walkList } from './list-order.ts';

const test = suite('orders of the long lists');
const lists: readonly ListName[] = ['bots', 'servers', 'packs'];
const seed = Number(process.env.SEED ?? 7);
const options = { ageMaxMs: 0, segmentEntries: 4 };

const directory = await openDirectory();
await addUser(directory.sql, 'robin');
await addTeam(directory.sql, 'team1');
test.after(() => directory.close());

test('after any edits, the pages of all nodes equal the list of a plain statement', async () => {
  const { sql } = directory;
  const random = createRandom(seed);
  const nodes = [createListOrders(sql, options), createListOrders(sql, options)];
  for (let round = 0; round < 15; round++) {
    for (const list of lists) {
      for (let edit = random.below(8); edit > 0; edit--) await editList(sql, list, random);
      const expected = await plainList(sql, list);
      for (const orders of nodes) {
        const walk = await walkList(orders, list, { perPage: 1 + random.below(7) });
        assert.equal(walk, { ids: expected, count: expected.length, whole: true }, `${list}, seed ${seed}`);
      }
    }
  }
  const [segments] = await sql<{ count: number }[]>`select count(*) as count from list_segments`;
  assert.ok((segments?.count ?? 0) > 3, 'the lists were cut');
});

test('pages of one order skip and repeat no row while the list changes, or the order is over', async () => {
  const { sql } = directory;
  const random = createRandom(seed + 1);
  const orders = createListOrders(sql, options);
  let whole = 0;
  for (let round = 0; round < 20; round++) {
    const before = await plainList(sql, 'bots');
    let edits = random.below(3);
    const walk = await walkList(orders, 'bots', {
      perPage: 3,
      between: async () => {
        if (random.below(4) === 0 && edits-- > 0) await editList(sql, 'bots', random);
      },
    });
    const after = new Set(await plainList(sql, 'bots'));
    if (!walk.whole) continue;
    whole += 1;
    assert.is(new Set(walk.ids).size, walk.ids.length, `a row is repeated, seed ${seed}`);
    const stayed = before.filter((id) => after.has(id));
    assert.equal(
      stayed.filter((id) => !walk.ids.includes(id)),
      [],
      `a row is skipped, seed ${seed}`,
    );
  }
  assert.ok(whole > 0);
});

test('after an order that is over, the next order is right', async () => {
  const { sql } = directory;
  for (let day = 1; day <= 20; day++)
    await addBot(sql, `day${day}`, { created_at: new Date(Date.UTC(2025, 0, day)) });
  const orders = createListOrders(sql, { ...options, ageMaxMs: 60_000 });
  const first = await orders.read('bots');
  assert.is(await orders.read('bots'), first, 'current until it is too old');
  const [top = ''] = await first.readIds(0, 1);
  await sql`delete from bots where bot_id = ${top}`;
  assert.is(await orders.read('bots'), first, 'the order stays the same');
  await addBot(sql, 'newest', { created_at: new Date(Date.UTC(2027, 0, 1)) });
  const oldest = (await plainList(sql, 'bots')).slice(-3);
  await sql`delete from bots where bot_id = any(${oldest})`;
  await first.readIds(first.count - 3, 3);

  assert.is(first.isOver(), true);
  const expected = await plainList(sql, 'bots');
  assert.equal((await walkList(orders, 'bots', { perPage: 5 })).ids, expected);
});

test('every 500th version of a list is vacuumed once, not at each recount without a change', async () => {
  const { sql } = directory;
  const statements: string[] = [];
  const watched = new Proxy(sql, {
    apply: (target, self, args) => {
      statements.push(String(args[0]));
      return Reflect.apply(target, self, args);
    },
  });
  const readFresh = async (): Promise<number> => {
    statements.length = 0;
    await createListOrders(watched, options).read('bots');
    return statements.filter((text) => text.startsWith('vacuum')).length;
  };
  await readFresh();
  await sql`update list_heads set version = 1499 where list = 'bots'`;
  await addBot(sql, 'the1500th', { created_at: new Date(Date.UTC(2027, 0, 2)) });

  assert.equal([await readFresh(), await readFresh(), await readFresh()], [1, 0, 0]);
});

test('a reader corrects a count that is wrong for any reason', async () => {
  const { sql } = directory;
  await sql`update list_segments set entries = entries + 1 where list = 'bots' and entries > 1`;
  await sql`update list_heads set version = version + 1 where list = 'bots'`;
  const orders = createListOrders(sql, options);
  await walkList(orders, 'bots', { perPage: 5 });
  const expected = await plainList(sql, 'bots');

  assert.equal(await walkList(orders, 'bots', { perPage: 5 }), {
    ids: expected,
    count: expected.length,
    whole: true,
  });
});

test('a random read returns every row of a cut list equally often', async () => {
  const { sql } = directory;
  const expected = await plainList(sql, 'bots');
  const order = await createListOrders(sql, options).read('bots');
  assert.equal(new Set(await order.readRandomIds(expected.length + 5)), new Set(expected));
  const counts = new Map<string, number>();
  const rounds = 40 * expected.length;
  for (let round = 0; round < rounds; round += 5) {
    for (const id of await order.readRandomIds(5)) counts.set(id, (counts.get(id) ?? 0) + 1);
  }
  const times = [...counts.values()];

  assert.is(counts.size, expected.length);
  assert.ok(Math.min(...times) > 5 && Math.max(...times) < 120, `returned ${times.join(' ')} times`);
});

test('deletions leave no small segments behind', async () => {
  const { sql } = directory;
  await sql`delete from packs`;
  const orders = createListOrders(sql, options);

  assert.equal(await walkList(orders, 'packs', { perPage: 5 }), { ids: [], count: 0, whole: true });
  const { length } = await sql`select from list_segments where list = 'packs'`;
  assert.ok(length <= 2, `${length} segments`);
  assert.is((await sql`select from list_changes`).length <= 3, true);
});

test.run();
