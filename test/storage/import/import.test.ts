/**
 * Imports into a real embedded store: what is added, what stays unchanged, what stops it, how it resumes.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ImportStopped, importFile, importLines } from '../../../storage/import/import.ts';
import { createZeroCounts } from '../../../storage/import/write.ts';
import { pluck } from '../../support/pluck.ts';
import { shardOf } from '../../support/refs.ts';
import { bot, linesOf, openTestStore, pack, platformId, server, session, team, user, vote } from './store.ts';

const test = suite('import');

const store = await openTestStore();
test.after(() => store.close());
test.before.each(() => store.clear());

const now = '2026-03-01T00:00:00.000Z';
const load = (...records: Record<string, unknown>[]) => importLines(store.sql, linesOf(...records), { now });
const catchStop = (promise: Promise<unknown>): Promise<ImportStopped> =>
  promise.then(
    () => assert.unreachable('the import should have stopped'),
    (error: unknown) => {
      assert.instance(error, ImportStopped);
      return error as ImportStopped;
    },
  ) as Promise<ImportStopped>;
const countRows = async (table: string): Promise<number> => {
  const rows = await store.sql<{ count: number }[]>`select count(*) from ${store.sql(table)}`;
  return rows[0]?.count ?? -1;
};

const directory = [
  user(1),
  user(2),
  team('team-1', 1, {
    members: [
      { user_id: platformId(1), perms: ['owner'] },
      { user_id: platformId(2), perms: [] },
    ],
  }),
  server(50, { team_owner: 'team-1', type: 'approved' }),
  bot(5, {
    type: 'approved',
    user: { username: 'Lantern Polls' },
    clicks: 9,
    unique_clicks: 4,
    upvotes: 3,
    downvotes: 1,
  }),
  bot(6, { owner: undefined, team_owner: 'team-1' }),
  pack('starter', { bot_ids: [platformId(5)], upvotes: 1 }),
  vote(5, 2),
  session(),
];

test('every kind of record gets its rows', async () => {
  const report = await load(...directory);

  const added = { user: 3, team: 1, server: 1, bot: 2, pack: 1, vote: 1, session: 1 };
  assert.equal(report.added, { ...createZeroCounts(), ...added });
  assert.is(await countRows('totals'), 5);
  assert.is(await countRows('vanity'), 4);
  assert.is(await countRows('team_members'), 2);
});

test('an entity is born with incarnation, shard, totals and vanity', async () => {
  await load(...directory);

  const [row] = await store.sql`
    select n.*, b.listed_since, v.code from bots b join totals n using (incarnation)
      join vanity v on v.itag = b.vanity_ref where bot_id = ${platformId(5)}`;

  assert.is(row?.entity_id, platformId(5));
  assert.is(row?.shard, shardOf('bot', platformId(5)));
  assert.equal([row?.clicks, row?.unique_clicks, row?.upvotes, row?.downvotes, row?.votes], [9, 4, 3, 1, 2]);
  assert.is(row?.code, 'lantern-polls');
  assert.equal(row?.listed_since, new Date(now));
});

test('running it again changes nothing', async () => {
  await load(...directory);
  const before = await store.dump();

  const report = await load(...directory);

  assert.is(report.skipped, directory.length);
  assert.is(await store.dump(), before);
});

test('votes get dense numbers with their rows, and a later file goes on after them', async () => {
  const readLog = async () => {
    const rows = await store.sql<{ entity_id: string; votes_logged: number; numbers: number[] }[]>`
      select entity_id, votes_logged,
        array(select log_number::int from votes v where v.incarnation = n.incarnation
          order by log_number) as numbers
      from totals n where kind = 'bot' order by entity_id`;
    return rows.map(({ entity_id, votes_logged, numbers }) => [entity_id, votes_logged, numbers]);
  };
  const former = vote(99, 2, { former: true, void: true, void_reason: 'deleted' });
  const repeated = vote(5, 2, { created_at: '2026-01-04T10:00:00.000Z' });
  await load(...directory, repeated, repeated, former);
  const first = await readLog();
  await load(...directory, vote(6, 2), repeated, vote(5, 1), former);

  assert.equal(first, [
    [platformId(5), 2, [1, 2]],
    [platformId(6), 0, []],
  ]);
  assert.equal(await readLog(), [
    [platformId(5), 3, [1, 2, 3]],
    [platformId(6), 1, [1]],
  ]);
  const [newest] = await store.sql`select author from votes where log_number = 3`;
  assert.is(newest?.author, platformId(1));
  const unnumbered = await store.sql`select target_id from votes where log_number is null`;
  assert.equal(pluck(unnumbered, 'target_id'), [platformId(99)]);
});

test('a record that the store already has changes nothing', async () => {
  await load(...directory);

  await load(bot(5, { prefix: 'changed', clicks: 1000 }));

  const [row] = await store.sql`select prefix, clicks from bots join totals using (incarnation)
    where bot_id = ${platformId(5)}`;
  assert.equal([row?.prefix, row?.clicks], ['!', 9]);
});

test('a record may refer only to records before it', async () => {
  const stopped = await catchStop(load(bot(5), user(1)));

  assert.match(
    stopped.message,
    /^line 1: there is no user 1\d+1 \(a record must come after those it refers to\)$/,
  );
});

test('a bad line stops the import before anything of its batch is written', async () => {
  const lines = linesOf(user(1), user(2), user(3), bot(5, { short: 1 }), user(4));

  const stopped = await catchStop(importLines(store.sql, lines, { batchLines: 2 }));

  assert.equal(pluck(stopped.badLines, 'line'), [4]);
  assert.is(stopped.linesDone, 2);
  assert.is(await countRows('users'), 2);
});

test('a client id belongs to one bot', async () => {
  const stopped = await catchStop(
    load(user(1), bot(5, { client_id: platformId(9) }), bot(6, { client_id: platformId(9) })),
  );

  assert.match(stopped.message, /^line 3: client_id \d+ belongs to bot \d+$/);
});

test('a name in use gets a suffix; so does a code that is taken or wrong, and is counted', async () => {
  const named = { user: { username: 'Lantern' } };
  await load(user(1), bot(5, named), bot(6, named), bot(7, { user: { username: '???' } }));
  const { added, toMend } = await load(
    ...[bot(8, { ...named, vanity: 'Lantern' }), bot(9, { vanity: 'admin' }), bot(10, { vanity: 'a b' })],
    ...[bot(11, { vanity: 'owls' }), bot(12, { vanity: 'OWLS', user: { username: 'Owls' } }), vote(12, 2)],
    session({ target_type: 'bot', target_id: platformId(12) }),
  );

  const rows = await store.sql<{ code: string }[]>`select code from vanity order by code collate "C"`;
  const ids = [7, 9, 10].map((number) => `bot-${platformId(number)}`);
  const codes = ['lantern', 'lantern-0006', 'lantern-0008', 'owls', 'owls-0012'];
  assert.equal(pluck(rows, 'code'), [...ids.sort(), ...codes]);
  assert.equal([added.bot, added.vote, added.session, toMend], [5, 1, 1, { 'bot.vanity': 4 }]);
});

test('a record that is refused takes nothing from those after it', async () => {
  await load(user(1), bot(5, { client_id: platformId(9) }));
  const taken = { client_id: platformId(9) };
  const lines = linesOf(
    bot(6, { ...taken, vanity: 'code', user: { username: 'Never' } }),
    bot(7, { vanity: 'code' }),
    vote(6, 2),
    session({ target_type: 'bot', target_id: platformId(6) }),
    bot(6),
    vote(6, 3),
  );

  const stopped = await catchStop(importLines(store.sql, lines));
  const report = await importLines(store.sql, lines, { skipBad: true });

  assert.equal(pluck(stopped.badLines, 'reason'), [
    `client_id ${platformId(9)} belongs to bot ${platformId(5)}`,
    `the bot ${platformId(6)} was refused`,
    `the bot ${platformId(6)} was refused`,
  ]);
  assert.equal([report.added.bot, report.added.vote, report.added.user, report.rejected], [2, 1, 0, 3]);
  const [row] = await store.sql`select target_id from vanity where code = 'code'`;
  assert.is(row?.target_id, platformId(7));
});

test('a record that only the database refuses is traced to its line', async () => {
  const itag = '11111111-2222-4333-8444-555555555555';
  await load(user(1), bot(5, { itag }));
  const lines = linesOf(...Array.from({ length: 20 }, (_, n) => bot(n + 10, n === 13 ? { itag } : {})));

  const report = await importLines(store.sql, lines, { skipBad: true });
  const stopped = await catchStop(importLines(store.sql, lines));

  assert.equal([report.added.bot, report.rejected], [19, 1]);
  assert.match(stopped.message, /^line 14: refused by the database: .*itag/);
});

for (const [what, record, message] of [
  [
    'an item of an unknown benefit',
    { kind: 'item', id: 'a', name: 'A', cents: 1, benefits: ['none'] },
    /no benefit none/,
  ],
  [
    'a coupon for an unknown item',
    { kind: 'coupon', id: 'a', code: 'A', cents: 1, applicable_items: ['none'] },
    /no item none/,
  ],
  [
    'a code that another coupon has',
    { kind: 'coupon', id: 'b', code: 'SPRING', cents: 1 },
    /refused by the database.*SPRING/,
  ],
] as const) {
  test(`${what} stops the import, and nothing of it is written`, async () => {
    await load({ kind: 'coupon', id: 'spring', code: 'SPRING', cents: 1 });
    const before = await store.dump();

    assert.match((await catchStop(load(user(1), record))).message, message);
    assert.is(await store.dump(), before);
  });
}

test('an import of positions deletes those of a new directory that no operator wrote', async () => {
  await store.sql`
    insert into app_positions (id, ordinal, name, info, questions, shipped)
    values ('dev', 1, 'Dev', '', '[]', true), ('qaqc', 2, 'QA', '', '[]', true)`;
  await store.sql`update app_positions set info = 'Ours.' where id = 'qaqc'`;

  await load({ kind: 'position', id: 'qaqc', name: 'Other', questions: [{ id: 'a', question: 'A?' }] });

  const rows = await store.sql`select id, info from app_positions`;
  assert.equal(
    rows.map((row) => ({ ...row })),
    [{ id: 'qaqc', info: 'Ours.' }],
  );
});

test('a vote without itag is imported once', async () => {
  await load(user(1), bot(5), vote(5, 2));

  const report = await load(vote(5, 2), vote(5, 2, { vote_num: 1 }), vote(5, 3));

  assert.equal([report.added.vote, report.skipped], [2, 1]);
});

test('vote records do not change totals', async () => {
  await load(user(1), bot(5, { upvotes: 7 }), vote(5, 2), vote(5, 3));

  const [row] = await store.sql`select upvotes from totals`;
  assert.is(row?.upvotes, 7);
});

test('a vote of a former listing belongs to no current listing', async () => {
  await load(user(1), bot(5), vote(5, 2, { void: true, void_reason: 'deleted', former: true }));

  const [row] = await store.sql`select incarnation from votes`;
  assert.is(row?.incarnation, 0);
});

test('with skipBad bad lines go to a file and the others are imported', async () => {
  const path = join(store.folder, 'skip.jsonl');
  const lines = [...linesOf(user(1)), '', '# a comment', 'nonsense', ...linesOf(bot(5), bot(6, { tags: 1 }))];
  writeFileSync(path, lines.join('\n'));

  const report = await importFile(store.sql, path, { skipBad: true });

  assert.equal([report.added.bot, report.rejected, report.linesDone], [1, 2, 6]);
  const rejected = readFileSync(report.rejectedFile, 'utf8').split('\n');
  assert.equal(rejected.slice(0, 2), ['# line 4: not valid JSON', 'nonsense']);
  assert.match(rejected[2] ?? '', /^# line 6: tags /);
  assert.equal(JSON.parse(rejected[3] ?? '').bot_id, platformId(6));
});

test('with skipBad a session of a listing that is refused is refused, too, in any batch', async () => {
  const lines = linesOf(
    ...[user(1), bot(5), bot(6, { client_id: platformId(5) })],
    session({ target_type: 'bot', target_id: platformId(6) }),
    session({ target_type: 'bot', target_id: platformId(5), token_hash: 'cd'.repeat(32) }),
  );
  for (const batchLines of [5, 1]) {
    await store.clear();
    const { added, rejected } = await importLines(store.sql, lines, { skipBad: true, batchLines });
    assert.equal([added.bot, added.session, rejected], [1, 1, 2], `${batchLines} lines`);
  }
});

test('lines that are not UTF-8 or too long are bad lines', async () => {
  const path = join(store.folder, 'bytes.jsonl');
  writeFileSync(path, Buffer.concat([Buffer.from([0x7b, 0xff, 0x0a]), Buffer.alloc(3_000_000, 0x61)]));

  const report = await importFile(store.sql, path, { skipBad: true });

  assert.is(report.rejected, 2);
  const rejected = readFileSync(report.rejectedFile, 'utf8');
  assert.match(rejected, /^# line 1: not valid UTF-8\n.*\n# line 2: longer than 2097152 bytes\n$/);
});

test('an interrupted import continues where it stopped, a complete one starts again', async () => {
  const path = join(store.folder, 'resume.jsonl');
  const stop = new AbortController();
  const records = [
    user(1),
    ...Array.from({ length: 29 }, (_, n) => bot(n + 10, n % 5 === 4 ? { tags: 1 } : {})),
  ];
  writeFileSync(path, linesOf(...records).join('\n'));
  const options = { batchLines: 4, skipBad: true, now };

  const first = await importFile(store.sql, path, {
    ...options,
    signal: stop.signal,
    onProgress: (linesDone) => linesDone >= 12 && stop.abort(),
  });
  const second = await importFile(store.sql, path, options);
  const third = await importFile(store.sql, path, options);

  assert.equal([first.interrupted, first.linesDone, first.added.bot], [true, 12, 9]);
  assert.equal([second.resumedAfter, second.linesDone, second.added.bot], [12, 30, 15]);
  assert.equal([third.resumedAfter, third.added.bot, third.skipped], [0, 0, 25]);
  assert.is(await countRows('bots'), 24);
});

test('rejected lines beyond the committed progress are found again, not twice', async () => {
  const path = join(store.folder, 'rejects.jsonl');
  writeFileSync(path, linesOf(user(1), bot(5, { tags: 1 }), user(2), bot(6, { tags: 1 })).join('\n'));
  const stop = new AbortController();
  const options = { batchLines: 2, skipBad: true };
  await importFile(store.sql, path, { ...options, signal: stop.signal, onProgress: () => stop.abort() });
  writeFileSync(`${path}.rejected`, '# line 4: written by a batch that was killed\n{}\n', { flag: 'a' });

  await importFile(store.sql, path, options);

  const headings = readFileSync(`${path}.rejected`, 'utf8').match(/^# line \d+/gm);
  assert.equal(headings, ['# line 2', '# line 4']);
});

test('two runs of one file at once do not count each other’s lines', async () => {
  const path = join(store.folder, 'twice.jsonl');
  writeFileSync(path, linesOf(user(1), user(2), user(3), user(4)).join('\n'));

  const both = await Promise.allSettled([
    importFile(store.sql, path, { batchLines: 1 }),
    importFile(store.sql, path, { batchLines: 1 }),
  ]);

  const failed = both.filter((result) => result.status === 'rejected');
  assert.is(failed.length, 1);
  assert.match(String(failed[0]?.reason), /another import of the same file is running/);
});

test('a file that cannot be read is an error and changes nothing', async () => {
  const path = join(store.folder, 'missing.jsonl');

  const error = await importFile(store.sql, path, { skipBad: true }).catch((reason: Error) => reason);

  assert.match((error as Error).message, /ENOENT/);
  assert.not.ok(existsSync(`${path}.rejected`));
  assert.is(await countRows('imports'), 0);
});

test.run();
