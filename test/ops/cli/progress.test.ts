/**
 * The progress of a command on a terminal.
 */
import { PassThrough } from 'node:stream';
import { suite } from 'uvu';
import { createProgress } from '../../../ops/cli/progress.ts';
import { assertExcludes, assertIncludes } from '../../support/assert-includes.ts';

const test = suite('progress of commands');

const show = (updates: readonly (readonly [done: number, total: number])[]): string => {
  const stream = Object.assign(new PassThrough({ encoding: 'utf8' }), { isTTY: true });
  const progress = createProgress(stream, 'Copying', 'MB');
  for (const [done, total] of updates) progress.update(done, total);
  progress.stop();
  return stream.read() ?? '';
};

test('a total may grow, and what is unknown has no share', () => {
  const grown = show([
    [10, 20],
    [30, 40],
  ]);

  assertIncludes(grown, '50 %  10 of 20 MB');
  assertIncludes(grown, '75 %  30 of 40 MB');
  assertExcludes(show([[10, 0]]), '%');
});

test.run();
