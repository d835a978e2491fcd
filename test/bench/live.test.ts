/**
 * The view of a run under way: a line on a terminal that changes, plain lines elsewhere.
 */
import { PassThrough } from 'node:stream';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createLive } from '../../bench/report/live.ts';

const test = suite('bench live');

const written = (isTerminal: boolean): string => {
  const stream = Object.assign(new PassThrough(), { isTTY: isTerminal, columns: 100 });
  const live = createLive(stream as unknown as NodeJS.WriteStream);
  live.print('starting');
  live.show('warming up');
  live.step(1, 4);
  live.show('round 1');
  live.print('1,234 requests/s');
  live.clear();
  return String(stream.read());
};

test('elsewhere than on a terminal only what is kept is written, line by line', () => {
  assert.is(written(false), 'starting\n1,234 requests/s\n');
});

test('a terminal gets the lines, and how far the run is on one that is cleared in the end', () => {
  const text = written(true);

  assert.match(text, /25 % {2}round 1/);
  assert.match(text, /1,234 requests\/s\n/);
  assert.ok(text.endsWith('\r\u001b[2K'));
});

test.run();
