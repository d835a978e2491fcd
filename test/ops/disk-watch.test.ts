/**
 * The watch of the disk: what it logs, and how often.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createDiskWatch } from '../../ops/watch/disk-watch.ts';

const test = suite('disk watch');

test('a full disk is logged at once, then once a minute, and its end once', async () => {
  const lines: string[] = [];
  let nowMs = 0;
  let full: string | null = null;
  const log = { error: (line: string) => lines.push(line), info: (line: string) => lines.push(line) };
  const watch = createDiskWatch({
    describeFullDisk: () => full,
    clock: { monotonicMs: () => nowMs },
    log,
  });
  const checkUntil = async (endMs: number): Promise<void> => {
    for (; nowMs < endMs; nowMs += 1_000) await watch.check();
  };
  await checkUntil(5_000);
  full = 'disk full: 1.0 MiB';
  await checkUntil(65_000);
  full = 'disk full: 2.0 MiB';
  await checkUntil(70_000);
  full = null;
  await checkUntil(75_000);

  assert.equal(lines, ['disk full: 1.0 MiB', 'disk full: 2.0 MiB', 'the disk has room again']);
});

test.run();
