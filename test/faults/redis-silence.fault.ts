/**
 * Redis hangs for more than 10 s, and is killed, under an idle node: `/readyz` is 503 within 3 s, and 200
 * within 1 s of Redis answering again. Time limit: 300 s.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { runSilences, type SilenceFigures } from './redis-silence.ts';

const test = suite('redis silent, with limits of time');
const awayMs = 10_000;

const judge = (what: string, { noticedSecondsMax, backSecondsMax }: SilenceFigures): void => {
  console.log(`\nfigures: ${what} | 503 after ${noticedSecondsMax} s | 200 after ${backSecondsMax} s`);
  assert.ok(noticedSecondsMax <= 3, `503 after ${noticedSecondsMax} s`);
  assert.ok(backSecondsMax <= 1, `200 after ${backSecondsMax} s`);
};

test('one server', async () => {
  judge('Redis hung, and killed, no traffic', await runSilences({ awayMs, cluster: false }));
});

test('one primary of a Cluster', async () => {
  judge('a primary hung, and killed, no traffic', await runSilences({ awayMs, cluster: true }));
});

test.run();
