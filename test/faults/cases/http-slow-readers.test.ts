/**
 * Every kind of reply over a real network, read at once, with a pause, in drops and in bursts, with send
 * buffers as the system has them and small: each reader gets every byte. Time limit: 1200 s.
 */
import { fileURLToPath } from 'node:url';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { canJoin, runApart } from '../../support/island.ts';
import { faultCase, skip } from '../harness/fault-case.ts';

const test = suite('slow readers');
const program = fileURLToPath(new URL('./http-slow-readers-main.ts', import.meta.url));

for (const { title, wmem } of [
  { title: 'send buffers of the system', wmem: '' },
  { title: 'small send buffers', wmem: '4096 16384 32768' },
]) {
  const name = `slow readers, ${title}`;
  faultCase<{ readonly readers: number }>(test, {
    title: `${title}: no reader of any kind of reply misses a byte`,
    name,
    counts: { quick: 5, faults: 100 },
    once: true,
    run: async ({ count }) => {
      if (!canJoin()) return skip(name, 'this system lets us make no network');
      const { readers, faults } = JSON.parse(await runApart(program, [wmem, String(count)]));
      assert.equal(faults, {});
      return { readers };
    },
  });
}

test.run();
