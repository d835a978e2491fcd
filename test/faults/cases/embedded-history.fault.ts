/**
 * The history on the embedded SQL, which has one thread: how long a step of a sample keeps it busy, and how
 * long another statement waits beside a sample. `ROWS` sets the number of listings. Time limit: 600 s.
 */
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createHistoryPartition } from '../../../storage/history/partitions.ts';
import { takeSample } from '../../../storage/history/sample.ts';
import { makeFolder } from '../../support/folder.ts';
import { openMigratedSql } from '../../support/sql-template.ts';
import { computeQuantile } from '../harness/core-time.ts';
import { printFigures } from '../harness/figures.ts';

const test = suite('history on the embedded SQL');
const listings = Number(process.env.ROWS ?? 100_000);
const noon = Date.UTC(2026, 2, 1, 12) / 60_000;
const { sql, close } = await openMigratedSql(join(makeFolder('rollcall-history-'), 'sql'));
test.after(() => close());

/** Takes a sample, and meanwhile one small statement after the other. */
const measureSample = async (at: number) => {
  const waits: number[] = [];
  let isDone = false;
  const others = (async () => {
    while (!isDone) {
      const startedMs = performance.now();
      await sql`update totals set flushed_at = now() where incarnation = 7`;
      waits.push(performance.now() - startedMs);
    }
  })();
  const startedMs = performance.now();
  const options = { monotonicMs: () => performance.now(), signal: new AbortController().signal };
  const rows = await takeSample(sql, { at, writesFine: true }, options);
  const sampleMs = performance.now() - startedMs;
  isDone = true;
  await others;
  return { rows, sampleMs, waitMsP50: computeQuantile(waits, 0.5), waitMsMax: Math.max(...waits) };
};

test('a step keeps the thread busy for 100 ms at most', async () => {
  await sql`
    insert into totals (incarnation, kind, entity_id, shard)
    select n, 'bot', 'bot' || n, n % 128 from generate_series(1, ${listings}::int) as n`;
  await createHistoryPartition(sql, 'fine', noon);
  const first = await measureSample(noon);
  await sql`update totals set clicks = clicks + 1 where incarnation % 10 = 3`;
  const second = await measureSample(noon + 5);
  const third = await measureSample(noon + 10);
  for (const [what, figure] of Object.entries({ first, second, third })) {
    printFigures(`${what} sample of ${listings} listings, embedded`, figure);
  }

  assert.equal([first.rows, second.rows, third.rows], [listings, listings / 10, 0]);
  assert.ok(second.waitMsMax <= 100, `${second.waitMsMax} ms`);
});

test.run();
