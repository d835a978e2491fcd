/**
 * The ledger over SQL: the contract, and what only SQL has: partitions, dead letters, sequences under load.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { EntityRef } from '../../../engine/ids.ts';
import { limits } from '../../../engine/limits.ts';
import { splitChange, writeAdjustments } from '../../../storage/ledger/adjustments.ts';
import { createLedger } from '../../../storage/ledger/ledger.ts';
import type { Sql } from '../../../storage/sql/client.ts';
import { pluck } from '../../support/pluck.ts';
import { claimLedger } from './contract.ts';
import { claimLetters, claimRetries } from './letters.ts';
import { claimLineages } from './timelines.ts';
import { registerVoteLogTests } from './vote-log.ts';
import { registerVoteOriginTests } from './vote-origins.ts';
import { registerWebhookEditTests } from './webhook-edits.ts';
import { registerWebhookLeaseTests } from './webhook-leases.ts';
import { registerWebhookScopeTests } from './webhook-scopes.ts';
import { registerWebhookTests } from './webhooks.ts';
import { dirty, itagOf, openRealWorld, vote } from './world.ts';

const test = suite('ledger');
const world = await openRealWorld();
test.after(() => world.close());

// Each test numbers its own flushes, and listings of several tests share a shard.
test.before.each(async () => {
  await world.sql`delete from generations`;
});

claimLedger(test, () => world);
claimLetters(test, () => world);
claimRetries(test, () => world);
claimLineages(test, () => world);
registerVoteLogTests(test, () => world);
registerVoteOriginTests(test, () => world);
registerWebhookTests(test, () => world);
registerWebhookEditTests(test, () => world);
registerWebhookLeaseTests(test, () => world);
registerWebhookScopeTests(test, () => world);

const tablesOf = async (numbers: readonly number[]): Promise<readonly string[]> => {
  const rows = await world.sql<{ name: string }[]>`
    select tableoid::regclass::text as name from votes where itag = any(${numbers.map(itagOf)}::uuid[])
    order by itag`;
  return rows.map(({ name }) => name);
};

/** The same SQL, and how many statements it has got. */
const countStatementsOf = (sql: Sql): readonly [Sql, () => number] => {
  let statements = 0;
  const counting = new Proxy(sql, {
    apply: (target, self, args) => {
      statements += 1;
      return Reflect.apply(target, self, args);
    },
  });
  return [counting, () => statements];
};

test('votes are in the partition of their month, which is created in advance', async () => {
  const ref = await world.list('months');
  await world.ledger.flush({
    entities: [],
    votes: [
      vote(ref, 701, { atMs: Date.UTC(2031, 0, 31, 23, 59, 59, 999) }),
      vote(ref, 702, { atMs: Date.UTC(2031, 1, 1) }),
    ],
  });

  assert.equal(await tablesOf([701, 702]), ['votes_2031_01', 'votes_2031_02']);
  const [next] = await world.sql`select to_regclass('votes_2031_03') is not null as made`;
  assert.is(next?.made, true);
});

test('listings looked for at once share a few statements, and each gets its own answer', async () => {
  const made = await Promise.all(['one', 'two', 'three'].map((id) => world.list(`sought-${id}`)));
  const [sql, countStatements] = countStatementsOf(world.sql);
  const ledger = createLedger(sql);
  const find = async ({ kind, id }: Pick<EntityRef, 'kind' | 'id'>) =>
    (await ledger.find([{ kind, id }]))[0]?.ref ?? null;
  const unknown = Array.from({ length: 40 }, (_, index) => ({ kind: 'pack', id: `no-${index}` }) as const);

  const found = await Promise.all([...unknown, ...made].map(find));

  assert.equal(found, [...unknown.map(() => null), ...made]);
  assert.is(countStatements(), 1);
});

test('edits and adjustments looked for at once cost one statement while there are none', async () => {
  await world.sql`delete from edited`;
  await world.sql`update adjustments set settled_at = now() where settled_at is null`;
  const [sql, countStatements] = countStatementsOf(world.sql);
  const ledger = createLedger(sql);

  assert.equal(await Promise.all([ledger.listEdits(9), ledger.listAdjustments(9)]), [[], []]);
  assert.is(countStatements(), 1);

  const ref = await world.list('looked-for');
  await world.sql.begin((transaction) =>
    writeAdjustments(transaction, [{ incarnation: ref.incarnation, upvotes: 1 }]),
  );
  await world.sql`insert into edited (incarnation, revision) values (${ref.incarnation}, 1)`;
  const [edits, adjustments] = await Promise.all([ledger.listEdits(9), ledger.listAdjustments(9)]);
  assert.equal([edits.length, adjustments.length], [1, 1]);
});

test('a partition takes over the votes that fell into the default one', async () => {
  const ref = await world.list('default');
  await world.sql`
    insert into votes (itag, created_at, incarnation, target_type, target_id, author, upvote, vote_num)
    values (${itagOf(711)}, '2032-06-15', ${ref.incarnation}, 'pack', 'default', 'somebody', true, 0)`;
  assert.equal(await tablesOf([711]), ['votes_default']);

  await world.ledger.flush({ entities: [], votes: [vote(ref, 712, { atMs: Date.UTC(2032, 5, 1) })] });
  assert.equal(await tablesOf([711, 712]), ['votes_2032_06', 'votes_2032_06']);
});

test('votes of impossible years are stored without their own table', async () => {
  const ref = await world.list('years');
  const votes = [vote(ref, 721, { atMs: 0 }), vote(ref, 722, { atMs: Date.UTC(2999, 0) })];
  await world.ledger.flush({ entities: [], votes });

  assert.equal(await tablesOf([721, 722]), ['votes_default', 'votes_default']);
});

test('the time of a vote is stored to the millisecond', async () => {
  const ref = await world.list('time');
  const atMs = Date.UTC(2026, 10, 20, 23, 59, 59, 999);
  await world.ledger.flush({ entities: [], votes: [vote(ref, 731, { atMs })] });

  const [row] = await world.sql<{ created_at: Date; text: string }[]>`
    select created_at, created_at::text as text from votes where itag = ${itagOf(731)}`;
  assert.is(row?.created_at.getTime(), atMs);
  assert.is(row?.text, '2026-11-20 23:59:59.999+00');
});

test('a voter may have any name that SQL can store', async () => {
  const ref = await world.list('names');
  const names = ['"', '\\', 'a,b', '{}', 'NULL', '', 'é\u{1f600}'];
  const votes = names.map((user, index) => ({ ...vote(ref, 851 + index), user }));

  await world.ledger.flush({ entities: [], votes });

  const rows = await world.sql<{ author: string }[]>`
    select author from votes where incarnation = ${ref.incarnation} order by itag`;
  assert.equal(pluck(rows, 'author'), names);
});

test('rows are written in a fixed order, whatever that of the round, so nodes cannot deadlock', async () => {
  const refs: EntityRef[] = [];
  for (let index = 0; index < 12; index++) refs.push(await world.list(`order-${index}`));
  const mixed = refs.map((_, index) => refs[(index * 5 + 7) % refs.length] as EntityRef);
  await world.sql`create temp table written (place bigint generated always as identity, incarnation bigint)`;
  await world.sql`
    create function pg_temp.note() returns trigger language plpgsql as
    'begin insert into pg_temp.written (incarnation) values (new.incarnation); return new; end'`;
  await world.sql`create trigger note before update on totals for each row execute function pg_temp.note()`;
  // The plan for a large table: one index look-up per row of the round, in its order.
  const joins = ['enable_hashjoin', 'enable_mergejoin', 'enable_seqscan'];
  for (const join of joins) await world.sql.unsafe(`set ${join} = off`);

  await world.ledger.flush({
    entities: mixed.map((ref) => dirty(ref, 1, { clicks: 1 })),
    votes: mixed.map((ref, index) => vote(ref, 801 + ((index * 7) % 12))),
  });

  for (const join of joins) await world.sql.unsafe(`reset ${join}`);
  await world.sql`drop trigger note on totals`;
  const totals = await world.sql<{ incarnation: number }[]>`select incarnation from written order by place`;
  // Each row is written once: its totals with the number of its newest vote.
  assert.equal(
    pluck(totals, 'incarnation'),
    refs.map(({ incarnation }) => incarnation),
  );
  const votes = await world.sql<{ itag: string }[]>`
    select itag from votes where itag between ${itagOf(801)} and ${itagOf(812)} order by ctid`;
  assert.equal(
    pluck(votes, 'itag'),
    Array.from({ length: 12 }, (_, index) => itagOf(801 + index)),
  );
});

test('a dead letter contains the row without characters that JSON columns refuse', async () => {
  const ref = await world.list('letter');
  await world.ledger.writeDeadLetter({ vote: vote(ref, 741, { user: 'a\0b\ud800' }), reason: 'NUL\0' });

  const [letter] = await world.sql`select source, body, reason from dead_letters order by id desc limit 1`;
  assert.is(letter?.source, 'vote');
  assert.is(letter?.body.user, 'a\ufffdb\ufffd');
  assert.is(letter?.reason, 'NUL\ufffd');
});

test('sequences have no gaps per listing under concurrent decisions', async () => {
  const ref = await world.list('dense');
  await Promise.all(
    Array.from({ length: 20 }, () =>
      world.sql.begin((transaction) =>
        writeAdjustments(transaction, [{ incarnation: ref.incarnation, upvotes: -1 }]),
      ),
    ),
  );

  const items = (await world.ledger.listAdjustments(100, ref)).map(({ item }) => item);
  assert.equal(
    items.map((item) => (item.kind === 'adjust' ? item.sequence : 0)),
    Array.from({ length: 20 }, (_, index) => index + 1),
  );
});

test('an adjustment with many vote records is split: pins first, counts last', async () => {
  const marks = (name: string, count: number) =>
    Array.from({ length: count }, (_, index) => ({ user: `${name}${index}`, atMs: index }));
  const max = limits.adjustmentVotersMax;
  const rows = splitChange(
    { upvotes: -3, releaseBeforeMs: 9, pinned: marks('h', max + 1), release: marks('r', max) },
    max,
  );

  assert.equal(
    rows.map((row) => [row.pinned?.length, row.release?.length, row.upvotes]),
    [
      [max, 0, undefined],
      [1, max - 1, undefined],
      [0, 1, -3],
    ],
  );
  assert.is(rows[2]?.releaseBeforeMs, 9);
  assert.equal(splitChange({ upvotes: -1 }, max), [{ pinned: [], release: [], upvotes: -1 }]);
});

test('a full reset spares immutable votes, and their voters still wait', async () => {
  const ref = await world.list('immutable');
  const other = await world.list('untouched');
  const atMs = Date.UTC(2026, 10, 21);
  await world.ledger.flush({ entities: [], votes: [vote(ref, 751), vote(ref, 752), vote(ref, 753)] });
  await world.sql`update votes set immutable = true where itag = ${itagOf(752)}`;
  await world.voidVote(itagOf(753), 'redeemed');
  await world.reset('all', atMs);

  const states = await world.votes();
  assert.equal(
    [751, 752, 753].map((number) => states[itagOf(number)]),
    ['operator', '', 'redeemed'],
  );
  const items = (await world.ledger.listAdjustments(10, ref)).map(({ item }) => item);
  const last = items[1];
  assert.is(last?.kind === 'adjust' && last.upvotes, -1);
  assert.equal(last?.kind === 'adjust' && last.pinned.map(({ user }) => user).sort(), ['user752', 'user753']);
  assert.equal(await world.ledger.listAdjustments(10, other), []);
});

test.run();
