/**
 * Hundreds of seeded histories of clients, nodes and faults, each judged by the invariants.
 *
 * A failure prints its seed: `node test/sim/run.ts --seed N --verbose` replays it. Add it to `seeds.ts` then.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { isLoop } from '../support/test-group.ts';
import { onceFailed } from './seeds.ts';
import { type SimulationResult, simulate } from './simulation.ts';

const test = suite('simulation');

const seedsPerRun = isLoop ? 200 : 1_000;
const mix = new Map<string, number>();
let ops = 0;
let special = 0;

const judge = (result: SimulationResult): void => {
  for (const [what, times] of result.counts) mix.set(what, (mix.get(what) ?? 0) + times);
  ops += result.ops;
  special += result.special;
  assert.equal(result.violations, [], `seed ${result.seed}`);
};

test('seeds that failed once do not fail again', async () => {
  for (const { seed } of onceFailed) judge(await simulate({ seed }));
});

test(`no history of ${seedsPerRun} breaks an invariant`, async () => {
  for (let seed = 1; seed <= seedsPerRun; seed++) judge(await simulate({ seed }));
});

test('a history that nobody has seen breaks no invariant', async () => {
  const seed = Number(process.hrtime.bigint() % 1_000_000_007n);
  process.stdout.write(`SEED=${seed} `);
  for (let offset = 0; offset < 10; offset++) judge(await simulate({ seed: seed + offset }));
});

test('the same seed tells the same history', async () => {
  for (const seed of [3, 17, 64]) {
    const [first, second] = [await simulate({ seed }), await simulate({ seed })];

    assert.is(first.hash, second.hash);
    assert.is(first.events, second.events);
  }
  assert.is.not((await simulate({ seed: 3 })).hash, (await simulate({ seed: 4 })).hash);
});

test('a guard taken out of the ledger is noticed', async () => {
  const faults = [{ unguarded: true }, { doubleRows: true }, { resurrects: true }];
  for (const fault of faults) {
    let noticed = 0;
    for (let seed = 1; seed <= 40 && noticed === 0; seed++) {
      noticed = (await simulate({ seed, faults: fault })).violations.length;
    }
    assert.ok(noticed > 0, JSON.stringify(fault));
  }
});

test('at least three operations in ten leave the plain way', () => {
  const rare = ['hot store emptied', 'hot store rolled back', 'row buried', 'gate broken: gap'];
  const usual = ['commit unknown', 'commit not_applied', 'crash', 'void', 'reset', 'removal', 'clock jump'];
  for (const what of [...rare, ...usual, 'vote behind a vote on its way'])
    assert.ok((mix.get(what) ?? 0) >= seedsPerRun / 100, `${what}: ${mix.get(what)}`);
  assert.ok(special / ops >= 0.3, `${special} of ${ops}`);
  const lines = [...rare, ...usual].map((what) => `${what} ${mix.get(what)}`);
  process.stdout.write(`${special} of ${ops} operations special; ${lines.join(', ')} `);
});

test.run();
