/**
 * Page views that a filter would take off: which are, and that nodes add up what they counted.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createViewWatch } from '../../../ops/jobs/view-marks.ts';
import { openRealWorld } from '../../storage/ledger/world.ts';

const test = suite('marks of page views');
const world = await openRealWorld();
const { sql } = world;
test.after(() => world.close());

const hourMs = 3_600_000;
const never = new AbortController().signal;
let nowMs = Date.UTC(2026, 2, 3, 12);
const clock = { nowMs: () => nowMs };
const browser = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0';
const listMarks = (incarnation: number) => sql<{ at: Date; figures: object }[]>`
  select at, figures from vote_suspects where incarnation = ${incarnation} order by at`;

test('views of one address beyond its third and those of programs are marked', async () => {
  const watch = createViewWatch(sql, clock);
  const begin = new Date(nowMs);
  for (let view = 0; view < 30; view++) watch.note(1, '203.0.113.1', browser);
  for (let view = 0; view < 10; view++)
    watch.note(1, `198.51.100.${view}`, view < 4 ? 'Googlebot/2.1' : browser);
  for (let view = 0; view < 100; view++) watch.note(2, `198.51.100.${view}`, browser);
  for (let view = 0; view < 19; view++) watch.note(3, `198.51.100.${view}`, 'curl/8');
  await watch.job.run(never);
  assert.equal([...(await listMarks(1))], [], 'the hour lasts');

  nowMs += hourMs;
  await watch.job.run(never);
  assert.equal([...(await listMarks(1))], [{ at: begin, figures: { views: 40, repeated: 27, robots: 4 } }]);
  assert.equal([...(await listMarks(2)), ...(await listMarks(3))], []);
  watch.note(1, '203.0.113.1', browser);
  nowMs += hourMs;
  await watch.job.run(never);
  assert.is((await listMarks(1)).length, 1);
});

test('what several nodes counted of an hour is added', async () => {
  const nodes = [createViewWatch(sql, clock), createViewWatch(sql, clock)];
  for (const [index, { note }] of nodes.entries())
    for (let view = 0; view < 23 + index; view++) note(9, '203.0.113.1', browser);
  nowMs += hourMs;
  for (const { job } of nodes) await job.run(never);

  assert.equal(
    (await listMarks(9)).map(({ figures }) => figures),
    [{ views: 47, repeated: 41, robots: 0 }],
  );
});

test.run();
