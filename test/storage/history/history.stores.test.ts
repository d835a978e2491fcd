/**
 * The history on a Postgres server: the same claims as on the embedded SQL, and several nodes at once.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createHistory } from '../../../storage/history/read.ts';
import { takeSample } from '../../../storage/history/sample.ts';
import { until } from '../../support/until.ts';
import { openDatabase } from '../postgres/database.ts';
import { registerHistoryTests } from './claims.ts';
import { registerHistoryModelTest } from './model.ts';
import { addListing, createRunner, emptyHistory, never, readRows, setTotals, toMinute } from './world.ts';

const test = suite('history on postgres');
const { server, sql, pools } = await openDatabase(test, 2);
const [, other = sql] = pools;

registerHistoryTests(test, () => sql);
registerHistoryModelTest(test, () => sql);

const noon = toMinute('2026-03-01T12:00Z');

test('two nodes at one instant write what one writes', async () => {
  await emptyHistory(sql);
  await createRunner(sql).run(noon);
  const bots = [await addListing(sql, 'one', { clicks: 1 }), await addListing(sql, 'two', { clicks: 2 })];
  const runs = await Promise.allSettled([createRunner(sql).run(noon + 5), createRunner(other).run(noon + 5)]);
  await createRunner(sql).run(noon + 5);

  assert.ok(runs.some(({ status }) => status === 'fulfilled'));
  for (const [index, bot] of bots.entries()) {
    assert.equal(await readRows(sql, 'fine', bot), [[noon + 5, index + 1]]);
  }
});

test('a node that stalled and was replaced writes nothing more', async () => {
  await emptyHistory(sql);
  const bot = await addListing(sql, 'stalled', { clicks: 1 });
  await createRunner(sql).run(noon);
  await setTotals(sql, bot, { clicks: 2 });
  await sql`update history_state set at = ${noon + 5}, position = 0`;
  const stalled = await sql.begin(async (transaction) => {
    await transaction`select from history_state for update`;
    const sample = takeSample(other, { at: noon + 5, writesFine: true }, never);
    const outcome = sample.catch((error: Error) => error.message);
    // Its first step waits; meanwhile the next sample begins.
    await until('a step that waits', async () => {
      const [row] = await transaction`select count(*) > 0 as found from pg_locks where not granted`;
      return row?.found === true;
    });
    await transaction`update history_state set at = ${noon + 10}, position = 0`;
    return { outcome };
  });
  assert.match(String(await stalled.outcome), 'another node continues the sample');
  assert.equal(await readRows(sql, 'fine', bot), [[noon, 1]]);

  await createRunner(sql).run(noon + 10);
  assert.equal(await readRows(sql, 'fine', bot), [
    [noon, 1],
    [noon + 10, 2],
  ]);
});

test('a partition in use is dropped by a later run, and readers are not held up', async () => {
  await emptyHistory(sql);
  const { run } = createRunner(sql, { historyFineHours: 1 });
  const bot = await addListing(sql, 'read', { clicks: 1 });
  await run(noon);
  await other.begin(async (reader) => {
    await reader`select from history_fine where incarnation = ${bot}`;
    await run(noon + 1_440);
    assert.equal(await readRows(sql, 'fine', bot), [[noon, 1]]);
  });
  await run(noon + 1_445);

  assert.equal(await readRows(sql, 'fine', bot), []);
});

test('while Postgres is away no sample runs, and the time is a hole', async () => {
  await emptyHistory(sql);
  const { run, recorded } = createRunner(sql);
  await addListing(sql, 'away');
  await run(noon);
  await server.stop('immediate');
  const failed = await run(noon + 5).catch((error: Error) => error);
  await server.start();
  await until('a sample after the outage', () => run(noon + 10).then(() => true));

  assert.instance(failed, Error);
  const { fine } = await createHistory(sql).times();
  assert.equal(fine, [noon, noon + 10]);
  assert.is(recorded.holes, 1);
});

test.run();
