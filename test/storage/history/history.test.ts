/**
 * The history on the embedded SQL: what samples and roll-ups write, holes, cut-off runs, expiry, deletion.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { openDirectory } from '../catalogue/directory.ts';
import { addListing, createRunner, setTotals, toMinute } from './world.ts';

const test = suite('history');
const { sql, close } = await openDirectory();
test.after(() => close());
test.before.each(async () => {
  for (const table of ['fine', 'hours', 'days', 'times', 'heads', 'deleted'])
    await sql`delete from ${sql(`history_${table}`)}`;
  await sql`update history_state set at = 0, position = 0, whole_at = 0, hour = 0, day = 0`;
  await sql`delete from totals`;
});

const noon = toMinute('2026-03-01T12:00Z');
const read = async (level: string, incarnation: number) => {
  const rows = await sql<{ at: number; clicks: number }[]>`
    select at, clicks from ${sql(`history_${level}`)} where incarnation = ${incarnation} order by at`;
  return rows.map(({ at, clicks }) => [at - noon, clicks]);
};

test('a sample writes a row for each listing that changed, and only for those', async () => {
  const { run, recorded } = createRunner(sql);
  const busy = await addListing(sql, 'busy', { clicks: 1 });
  const idle = await addListing(sql, 'idle', { clicks: 7 });
  await run(noon);
  await run(noon + 5);
  await setTotals(sql, busy, { clicks: 2 });
  await run(noon + 10);

  assert.equal(await read('fine', busy), [
    [0, 1],
    [10, 2],
  ]);
  assert.equal(await read('fine', idle), [[0, 7]]);
  assert.is(recorded.rows.fine, 3);
});

test('hours and days have the values at their ends', async () => {
  const { run } = createRunner(sql);
  const bot = await addListing(sql, 'bot', { clicks: 1 });
  for (let at = noon + 5; at <= noon + 24 * 60; at += 5) {
    if (at % 60 === 55) await setTotals(sql, bot, { clicks: at - noon });
    if (at < noon + 180 || at > noon + 700) await run(at);
  }

  assert.equal((await read('hours', bot)).slice(0, 4), [
    [60, 55],
    [120, 115],
    [180, 175],
    [720, 715],
  ]);
  assert.equal(await read('days', bot), [[720, 715]]);
});

test.run();
