/**
 * Redis' append-only file torn at every byte of a commit, and with single bits turned. Time limit: 900 s.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { runFlippedBits, runTornTails } from './aof.ts';
import { seed } from './plans.ts';

const test = suite('the file of Redis');

const print = (name: string, figures: object): void => {
  const words = Object.entries(figures).map(([word, count]) => `${word} ${count}`);
  console.log(`\nfigures: ${[name, ...words].join(' | ')}`);
};

test('torn at any byte it brings back the whole newest commit or none of it', async () => {
  const figures = await runTornTails(1);
  print('torn append-only file', figures);
  assert.ok(figures.none > 100 && figures.whole > 0);
});

test('with one bit turned it may bring back other data, and says nothing', async () => {
  // What is promised is little: the figure says how little.
  print(`one bit turned (seed ${seed})`, await runFlippedBits(100, seed));
});

test.run();
