/**
 * A damaged file of the embedded hot store: one bit of a record flipped, and the end of the file cut. Real
 * folders; the bits are changed on the disk while the store is closed.
 */
import { readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Item } from '../../../engine/entity/items.ts';
import { emptyFacts, emptyTotals } from '../../../engine/entity/state.ts';
import type { EntityRef } from '../../../engine/ids.ts';
import { openLmdbStore } from '../../../storage/hot/lmdb/store.ts';
import { openTables } from '../../../storage/hot/lmdb/tables.ts';
import { makeFolder } from '../../support/folder.ts';
import { pluck } from '../../support/pluck.ts';
import { rejection } from '../../support/redis-load.ts';
import { refOf } from '../../support/refs.ts';
import { startMs } from './generate.ts';
import { rules } from './lmdb-child.ts';

const test = suite('a damaged LMDB folder');

const clock = () => startMs;
const sick = refOf('bot', '77', 1);
/** In the same shard. */
const healthy: EntityRef = findNeighbour();
function findNeighbour(): EntityRef {
  for (let id = 1_000; ; id++) {
    const ref = refOf('bot', String(id), 1);
    if (ref.shard === sick.shard) return ref;
  }
}
const initOf = (target: EntityRef): Item => ({
  kind: 'init',
  target,
  facts: { ...emptyFacts, listed: true },
  totals: emptyTotals,
  row: { generation: 0, version: 0 },
});
const voteOf = (target: EntityRef, itag: string, atMs = startMs): Item => ({
  kind: 'vote',
  target,
  user: 'voter-of-77',
  upvote: true,
  atMs,
  itags: [itag, `${itag}-2`],
});
const clickOf = (target: EntityRef): Item => ({ kind: 'click', target, visitor: '5' });

/** A folder with two bots, each with a vote of one user; closed. */
const fillFolder = async (): Promise<string> => {
  const path = makeFolder('rollcall-lmdb-damage-');
  const store = await openLmdbStore({ path, clock });
  await store.publish([{ shard: sick.shard, generation: 1 }]);
  const items = [
    initOf(sick),
    initOf(healthy),
    clickOf(sick),
    voteOf(sick, 'itag-1'),
    voteOf(healthy, 'itag-2', startMs - 1),
  ];
  await store.commit([{ shard: sick.shard, producer: 'p', sequence: 1, items }], rules);
  await store.close();
  return path;
};

type DamagedTable = 'slots' | 'votes' | 'outbox';

/** Flips the lowest bit of a byte of the value stored under `key`, wherever the file has a copy of it. */
const flipBit = async (path: string, table: DamagedTable, key: string): Promise<void> => {
  const tables = await openTables(path);
  const value = Buffer.from(tables[table].getBinary(key) as Buffer);
  await tables.root.close();
  const file = join(path, 'data.mdb');
  const bytes = readFileSync(file);
  let copies = 0;
  for (let at = bytes.indexOf(value); at !== -1; at = bytes.indexOf(value, at + 1)) {
    bytes[at + value.length - 1] = (bytes[at + value.length - 1] ?? 0) ^ 1;
    copies += 1;
  }
  assert.ok(copies > 0);
  writeFileSync(file, bytes);
};
const findKey = async (path: string, table: DamagedTable, part: string): Promise<string> => {
  const tables = await openTables(path);
  const key = [...tables[table].getKeys()].find((name) => name.includes(part));
  await tables.root.close();
  return key ?? '';
};

test('a new folder is open to its owner alone', async () => {
  const path = join(makeFolder('rollcall-lmdb-new-'), 'hot');
  await (await openLmdbStore({ path, clock })).close();

  assert.is(statSync(path).mode & 0o777, 0o700);
});

test('a file whose first pages are not LMDB headers is refused with a message', async () => {
  const path = await fillFolder();
  const file = join(path, 'data.mdb');
  const whole = readFileSync(file);
  const overwritten = [
    Buffer.alloc(8_192),
    Buffer.from('text'),
    whole.subarray(0, 4_096),
    Buffer.from(whole),
  ];
  overwritten[3]?.fill(0, 4_096, 8_192);
  for (const bytes of overwritten) {
    writeFileSync(file, bytes);
    assert.match((await rejection(openLmdbStore({ path, clock }))).message, /damaged \(its first pages\)/);
  }
  writeFileSync(file, whole);
  await (await openLmdbStore({ path, clock })).close();
});

test('a flipped bit of a slot refuses what needs it, and nothing else', async () => {
  const path = await fillFolder();
  await flipBit(path, 'slots', await findKey(path, 'slots', sick.address));
  const store = await openLmdbStore({ path, clock });

  const [damaged, whole] = await store.load([
    { kind: 'bot', id: '77' },
    { kind: 'bot', id: healthy.id },
  ]);
  const items = [clickOf(sick), clickOf(healthy)];
  const [reply] = await store.commit([{ shard: sick.shard, producer: 'p', sequence: 2, items }], rules);
  const { entities, votes } = await store.peek({ entities: 10, votes: 10 });
  await store.publish([{ shard: sick.shard, generation: 2 }]);
  const words = store.listWarnings().join();
  await store.close();

  assert.equal([damaged?.outcome, whole?.outcome], ['damaged', 'found']);
  assert.equal(
    reply?.decisions?.map(({ kind }) => kind),
    ['damaged', 'applied'],
  );
  assert.equal(
    reply?.states.map((state) => state?.read().clicks),
    [undefined, 1],
  );
  assert.equal(
    entities.map(({ ref }) => ref.id),
    [healthy.id],
  );
  assert.is(votes.length, 2, 'the rows of its votes still reach SQL');
  assert.match(words, /damaged \(slots\).*answered 503.*move .* away and start it again/);
});

test('beside a damaged vote, totals are read only with the rows of all votes that they count', async () => {
  const path = await fillFolder();
  await flipBit(path, 'outbox', await findKey(path, 'outbox', 'itag-1'));
  const store = await openLmdbStore({ path, clock });
  const items = [{ ...voteOf(healthy, 'itag-3'), user: 'another' }];
  await store.commit([{ shard: sick.shard, producer: 'p', sequence: 2, items }], rules);

  const part = await store.peek({ entities: 10, votes: 1 });
  const whole = await store.peek({ entities: 10, votes: 10 });
  await store.close();

  assert.equal(pluck(part.votes, 'itag'), ['itag-2']);
  assert.equal(part.entities, [], 'the third vote counts in these totals');
  assert.equal(pluck(whole.votes, 'itag'), ['itag-2', 'itag-3']);
  assert.is(whole.entities.length, 2);
});

test('damaged votes and slots take no room in a read, so that they keep nothing else from SQL', async () => {
  const path = await fillFolder();
  for (const part of ['itag-1', 'itag-2']) await flipBit(path, 'outbox', await findKey(path, 'outbox', part));
  const store = await openLmdbStore({ path, clock });

  const all = await store.peek({ entities: 10, votes: 1 });
  const items = [{ ...voteOf(healthy, 'itag-3'), user: 'another' }];
  await store.commit([{ shard: sick.shard, producer: 'p', sequence: 2, items }], rules);
  const next = await store.peek({ entities: 10, votes: 1 });
  await store.close();
  await flipBit(path, 'slots', await findKey(path, 'slots', sick.address));
  const again = await openLmdbStore({ path, clock });
  const beside = await again.peek({ entities: 1, votes: 10 });
  await again.close();

  assert.equal([all.votes.length, all.entities.length], [0, 2]);
  assert.equal([pluck(next.votes, 'itag'), next.entities.length], [['itag-3'], 2]);
  assert.equal([pluck(beside.votes, 'itag'), beside.entities.length], [['itag-3'], 1]);
});

test('a flipped bit of a last vote refuses a second vote, instead of counting it', async () => {
  const path = await fillFolder();
  await flipBit(path, 'votes', await findKey(path, 'votes', sick.address));
  const store = await openLmdbStore({ path, clock });

  const [status] = await store.load([{ kind: 'bot', id: '77', voter: 'voter-of-77' }]);
  const items = [voteOf(sick, 'itag-3'), voteOf(healthy, 'itag-4'), clickOf(sick)];
  const [reply] = await store.commit([{ shard: sick.shard, producer: 'p', sequence: 2, items }], rules);
  const [again] = await store.load([{ kind: 'bot', id: '77' }]);
  await store.close();

  assert.is(status?.outcome, 'damaged');
  assert.equal(
    reply?.decisions?.map(({ kind }) => kind),
    ['damaged', 'refused', 'applied'],
  );
  assert.is(again?.outcome === 'found' && again.state.upvotes, 1);
});

test('a resent batch gets its decisions again, damage included', async () => {
  const path = await fillFolder();
  await flipBit(path, 'slots', await findKey(path, 'slots', sick.address));
  const store = await openLmdbStore({ path, clock });
  const batch = { shard: sick.shard, producer: 'p', sequence: 2, items: [clickOf(sick), clickOf(healthy)] };
  await store.commit([batch], rules);

  const [reply] = await store.commit([batch], rules);
  await store.close();

  assert.is(reply?.outcome, 'duplicate');
  assert.equal(
    reply?.decisions?.map(({ kind }) => kind),
    ['damaged', 'applied'],
  );
});

test('a file that was cut is refused with a message, before anything reads beyond its end', async () => {
  const path = await fillFolder();
  const file = join(path, 'data.mdb');
  const { size } = statSync(file);
  for (const bytes of [Math.floor(size / 2), 3 * 4_096]) {
    truncateSync(file, bytes);

    const { reason, message } = await rejection(openLmdbStore({ path, clock }));

    assert.is(reason, 'damaged');
    assert.match(message, new RegExp(`has ${bytes} of ${size} bytes.*move .* away`));
  }
});

test.run();
