/**
 * Readers over a real network that take long: one of 64 KiB a second, evenly or at once, gets every byte; one
 * of a byte a second is closed after about a minute. Time limit: 600 s.
 */
import { fileURLToPath } from 'node:url';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { canJoin, runApart } from '../../support/island.ts';
import { faultCase, skip } from '../harness/fault-case.ts';

const test = suite('patient readers');
const program = fileURLToPath(new URL('./http-slow-readers-main.ts', import.meta.url));
/** A minute, looked at every two seconds, and the start of the readers. */
const closedMs = { least: 58_000, most: 80_000 };

for (const { title, wmem } of [
  { title: 'send buffers of the system', wmem: '' },
  { title: 'small send buffers', wmem: '4096 16384 16384' },
]) {
  const name = `patient readers, ${title}`;
  faultCase(test, {
    title: `${title}: 64 KiB a second is enough, a byte a second is not`,
    name,
    once: true,
    run: async () => {
      if (!canJoin()) return skip(name, 'this system lets us make no network');
      const { readers, drops, faults, cuts } = JSON.parse(await runApart(program, [wmem, '1', 'patient']));
      assert.equal(faults, []);
      assert.is(cuts.length, drops);
      for (const { reason, ms } of cuts) {
        assert.is(reason, 'slow');
        assert.ok(ms >= closedMs.least && ms <= closedMs.most, `closed after ${ms} ms`);
      }
      return { readers, closedMsMax: Math.max(...cuts.map(({ ms }: { ms: number }) => ms)) };
    },
  });
}

test.run();
