/**
 * What the history promises on each kind of SQL: what samples and roll-ups write, holes, cut-off and repeated
 * runs, expiry, deletion, votes by month.
 */
import * as assert from 'uvu/assert';
import { createHistory } from '../../../storage/history/read.ts';
import { takeSample } from '../../../storage/history/sample.ts';
import { readVoteMonths, writeVoteMonths } from '../../../storage/history/vote-months.ts';
import { createLedger } from '../../../storage/ledger/ledger.ts';
import type { Sql } from '../../../storage/sql/client.ts';
import { refOf } from '../../support/refs.ts';
import { vote } from '../ledger/world.ts';
import { addListing, createRunner, emptyHistory, never, readRows, setTotals, toMinute } from './world.ts';

type Claims = (title: string, claim: () => Promise<void>) => void;

const noon = toMinute('2026-03-01T12:00Z');

export const registerHistoryTests = (test: Claims, open: () => Sql): void => {
  registerSampleTests(test, open);
  registerExpiryTests(test, open);
  registerMonthTests(test, open);
};

const registerSampleTests = (test: Claims, open: () => Sql): void => {
  test('a sample writes a row for each listing that changed, and only for those', async () => {
    const sql = await emptyHistory(open());
    const { run, recorded } = createRunner(sql);
    const busy = await addListing(sql, 'busy', { clicks: 1 });
    const idle = await addListing(sql, 'idle', { clicks: 7 });
    await run(noon);
    await run(noon + 5);
    await setTotals(sql, busy, { clicks: 2 });
    await run(noon + 10);

    assert.equal(await readRows(sql, 'fine', busy), [
      [noon, 1],
      [noon + 10, 2],
    ]);
    assert.equal(await readRows(sql, 'fine', idle), [[noon, 7]]);
    assert.is(recorded.rows.fine, 3);
  });

  test('hours and days have the values at their ends, also if the sample of the end was missed', async () => {
    const sql = await emptyHistory(open());
    const { run, recorded } = createRunner(sql);
    const bot = await addListing(sql, 'bot', { clicks: 1 });
    for (let at = noon + 5; at <= noon + 24 * 60; at += 5) {
      if (at % 60 === 55) await setTotals(sql, bot, { clicks: at - noon });
      const isMissed = at >= noon + 180 && at <= noon + 700;
      if (!isMissed && at % 15 === 10) await run(at);
    }
    await run(noon + 24 * 60);

    assert.equal((await readRows(sql, 'hours', bot)).slice(0, 4), [
      [noon + 60, 55],
      [noon + 120, 115],
      [noon + 180, 175],
      [noon + 720, 715],
    ]);
    assert.equal(await readRows(sql, 'days', bot), [[noon + 720, 715]]);
    const { hours, days } = await createHistory(sql).times();
    assert.equal(
      hours.slice(0, 4),
      [60, 120, 180, 720].map((minutes) => noon + minutes),
    );
    assert.equal(days, [noon + 720]);
    assert.ok(recorded.holes > 100);
  });

  registerCutTests(test, open);
  registerExtremeTests(test, open);
};

const registerCutTests = (test: Claims, open: () => Sql): void => {
  test('a sample that is cut off continues with what it has not looked at', async () => {
    const sql = await emptyHistory(open());
    const { run } = createRunner(sql);
    const [first, last] = [await addListing(sql, 'first'), await addManyAndLast(sql)];
    await run(noon);
    for (const bot of [first, last]) await setTotals(sql, bot, { clicks: 1 });
    const stop = new AbortController();
    let calls = 0;
    const cut = run(noon + 5, stop.signal, () => {
      // At the begin of the sample, and around each step.
      if (++calls === 3) stop.abort(new Error('cut off'));
    });
    assert.is(await cut.catch((error: Error) => error.message), 'cut off');
    const { fine } = await createHistory(sql).times();
    assert.equal(fine, [noon], 'the time of half a sample is a hole');
    for (const bot of [first, last]) await setTotals(sql, bot, { clicks: 2 });
    await run(noon + 5);
    await run(noon + 10);

    assert.equal(await readRows(sql, 'fine', first), [
      [noon, 0],
      [noon + 5, 1],
      [noon + 10, 2],
    ]);
    assert.equal(await readRows(sql, 'fine', last), [
      [noon, 0],
      [noon + 5, 2],
    ]);
  });

  test('an instant that is run twice, or after a later one, changes nothing', async () => {
    const sql = await emptyHistory(open());
    const { run } = createRunner(sql);
    const bot = await addListing(sql, 'bot');
    await run(noon);
    await run(noon + 5);
    await setTotals(sql, bot, { clicks: 5 });
    await run(noon + 5);
    await run(noon);
    assert.is(await takeSample(sql, { at: noon, writesFine: true }, never), 0);
    await run(noon + 10);

    assert.equal(await readRows(sql, 'fine', bot), [
      [noon, 0],
      [noon + 10, 5],
    ]);
  });
};

const registerExtremeTests = (test: Claims, open: () => Sql): void => {
  test('posted values beyond 2^63 are stored as the largest integer', async () => {
    const sql = await emptyHistory(open());
    const bot = await addListing(sql, 'bot', {
      servers: '18446744073709551615',
      users: '9223372036854775807',
    });
    await createRunner(sql).run(noon);
    const [row] = await sql`select servers, users from history_fine where incarnation = ${bot}`;
    assert.equal({ ...row }, { servers: '9223372036854775807', users: '9223372036854775807' });
  });

  test('without fine samples or hours, days are kept', async () => {
    const sql = await emptyHistory(open());
    const { run } = createRunner(sql, { historyFineHours: 0, historyHourDays: 0 });
    const bot = await addListing(sql, 'bot', { clicks: 3 });
    for (const minutes of [0, 5, 700, 720, 725]) await run(noon + minutes);

    const counts = await Promise.all(['fine', 'hours', 'days'].map((level) => readRows(sql, level, bot)));
    assert.equal(counts, [[], [], [[noon + 720, 3]]]);
    const { fine, hours, days, newest } = await createHistory(sql).times();
    assert.equal([fine, hours, days, newest], [[], [], [noon + 720], noon + 725]);
  });
};

/** More listings than one step looks at. Resolves to the last one. */
const addManyAndLast = async (sql: Sql): Promise<number> => {
  await sql`
    insert into totals (incarnation, kind, entity_id, shard)
    select nextval('incarnations'), 'bot', 'many' || n, 0 from generate_series(1, 1500) as n`;
  return addListing(sql, 'last');
};

const listTables = async (sql: Sql): Promise<readonly string[]> => {
  const rows = await sql<{ name: string }[]>`
    select child.relname as name from pg_inherits join pg_class as child on child.oid = inhrelid
    where inhparent in ('history_fine'::regclass, 'history_hours'::regclass) order by 1`;
  return rows.map(({ name }) => name);
};

const registerExpiryTests = (test: Claims, open: () => Sql): void => {
  test('partitions are dropped once all their rows have expired, with their times', async () => {
    const sql = await emptyHistory(open());
    const { run } = createRunner(sql, { historyFineHours: 24, historyHourDays: 2 });
    const bot = await addListing(sql, 'bot', { clicks: 1 });
    await run(noon);
    await run(noon + 60);
    assert.equal(await listTables(sql), ['history_fine_2026_03_01', 'history_hours_2026_02_26']);
    await run(noon + 36 * 60 - 5);
    assert.equal((await listTables(sql))[0], 'history_fine_2026_03_01');
    await run(noon + 36 * 60);
    assert.equal(await listTables(sql), [
      'history_fine_2026_03_02',
      'history_fine_2026_03_03',
      'history_hours_2026_02_26',
    ]);
    await run(noon + 8 * 24 * 60);

    assert.equal(await listTables(sql), ['history_fine_2026_03_09', 'history_hours_2026_03_05']);
    assert.equal(await readRows(sql, 'days', bot), [[noon + 12 * 60, 1]]);
    const times = await createHistory(sql).times();
    assert.equal([times.fine, times.hours], [[noon + 8 * 24 * 60], [noon + 8 * 24 * 60]]);
  });

  test('a range after the last change has its value, though finer rows expired', async () => {
    const sql = await emptyHistory(open());
    const { run } = createRunner(sql, { historyFineHours: 1, historyHourDays: 1 });
    const bot = await addListing(sql, 'bot', { clicks: 9 });
    for (const days of [0, 0.5, 1, 9, 20, 20.5]) await run(noon + days * 1_440);
    const { rows } = createHistory(sql);
    const ref = refOf('bot', 'bot', bot);
    const [from, to] = [noon + 20 * 1_440, noon + 21 * 1_440];

    for (const level of ['fine', 'hours', 'days'] as const) {
      assert.equal(
        (await rows(ref, { level, from, to })).map(({ clicks }) => clicks),
        [9],
      );
    }
  });

  registerDeletionTests(test, open);
};

const registerDeletionTests = (test: Claims, open: () => Sql): void => {
  test('the history of a deleted listing goes, that of others stays', async () => {
    const sql = await emptyHistory(open());
    const { run } = createRunner(sql);
    const [gone, kept] = [await addListing(sql, 'gone', { clicks: 1 }), await addListing(sql, 'kept')];
    for (const minutes of [0, 60, 720]) await run(noon + minutes);
    await sql`
      insert into vote_months (incarnation, month, kind, upvotes, downvotes, voters, redeemed, voided, net)
      select incarnation, '2026-02-01', 'bot', 1, 0, 1, 0, 0, 1 from totals`;
    await sql`delete from totals where incarnation = ${gone}`;
    const again = await addListing(sql, 'gone', { clicks: 2 });
    await run(noon + 725);

    for (const level of ['fine', 'hours', 'days']) {
      assert.equal(await readRows(sql, level, gone), []);
      assert.ok((await readRows(sql, level, kept)).length > 0);
    }
    assert.equal(await readRows(sql, 'fine', again), [[noon + 725, 2]]);
    const months = await sql`select incarnation from vote_months`;
    assert.equal(
      months.map(({ incarnation }) => incarnation),
      [kept],
    );
  });
};

const registerMonthTests = (test: Claims, open: () => Sql): void => {
  test('the archive of a month has the votes that were cast in it, with ranks', async () => {
    const sql = await emptyHistory(open());
    const ledger = createLedger(sql);
    const listBot = async (id: string) => refOf('bot', id, await addListing(sql, id));
    const [one, two, three, four] = [
      await listBot('one'),
      await listBot('two'),
      await listBot('three'),
      await listBot('four'),
    ];
    const castAt = (text: string, more: object = {}) => ({ atMs: Date.parse(text), ...more });
    const last = '2026-02-28T23:59:59.999Z';
    await ledger.flush({
      entities: [],
      votes: [
        vote(one, 91_001, castAt('2026-02-01T00:00:00Z')),
        vote(one, 91_002, castAt(last, { upvote: false })),
        vote(one, 91_003, castAt(last, { user: 'user91001' })),
        vote(one, 91_004, castAt('2026-03-01T00:00:00Z')),
        vote(two, 91_005, castAt(last)),
        vote(three, 91_006, castAt(last)),
        vote(three, 91_007, castAt(last)),
        vote(four, 91_008, castAt(last)),
        vote(four, 91_009, castAt(last)),
      ],
    });
    await sql`update votes set void = true, void_reason = 'redeemed' where author = 'user91006'`;
    await sql`update votes set void = true, void_reason = 'operator' where author = 'user91008'`;
    await sql`insert into vote_resets (scope, at, reason) values ('all', '2026-03-01', 'monthly_reset')`;

    await writeVoteMonths(sql, Date.parse('2026-03-01T00:20Z'), never);
    const months = await Promise.all([one, two, three, four].map((ref) => readVoteMonths(sql, ref, 12)));
    assert.equal(
      months.flat().map((month) => ({ ...month })),
      [
        { month: '2026-02', upvotes: 2, downvotes: 1, voters: 2, redeemed: 0, voided: 0, rank: 2 },
        { month: '2026-02', upvotes: 1, downvotes: 0, voters: 1, redeemed: 0, voided: 0, rank: 2 },
        { month: '2026-02', upvotes: 2, downvotes: 0, voters: 2, redeemed: 1, voided: 0, rank: 1 },
        { month: '2026-02', upvotes: 2, downvotes: 0, voters: 2, redeemed: 0, voided: 1, rank: 2 },
      ],
    );

    await ledger.flush({ entities: [], votes: [vote(two, 91_010, castAt(last))] });
    await writeVoteMonths(sql, Date.parse('2026-03-02T00:20Z'), never);
    const [late] = await readVoteMonths(sql, two, 12);
    assert.equal([late?.upvotes, late?.rank], [2, 1]);
    await ledger.flush({ entities: [], votes: [vote(two, 91_011, castAt(last))] });
    await writeVoteMonths(sql, Date.parse('2026-03-03T00:20Z'), never);
    assert.is((await readVoteMonths(sql, two, 12))[0]?.upvotes, 2, 'a final month is not counted again');
  });

  registerVoidTests(test, open);
};

const registerVoidTests = (test: Claims, open: () => Sql): void => {
  test('votes that an operator reset within the month do not count for the rank', async () => {
    const sql = await emptyHistory(open());
    const ledger = createLedger(sql);
    const ref = refOf('bot', 'reset', await addListing(sql, 'reset'));
    const cast = (number: number, text: string) => vote(ref, number, { atMs: Date.parse(text) });
    const votes = [cast(91_101, '2026-05-02'), cast(91_102, '2026-05-03'), cast(91_103, '2026-05-20')];
    await ledger.flush({ entities: [], votes });
    await sql`insert into vote_resets (scope, at, reason)
      values (${String(ref.incarnation)}, '2026-05-10', 'operator')`;
    await writeVoteMonths(sql, Date.parse('2026-06-01T00:20Z'), never);

    const [row] =
      await sql`select upvotes, voided, net from vote_months where incarnation = ${ref.incarnation}`;
    assert.equal({ ...row }, { upvotes: 3, voided: 2, net: 1 });
  });
};
