/**
 * Replays seeds by hand: `node test/sim/run.ts --seed 7 --verbose`, or `--from 1 --count 1000` for many.
 *
 * Prints the trace with `--verbose`, then the violations and the mix. Exit code 1 when anything is violated.
 */
import { parseCount } from '../../bench/options.ts';
import { parseOptions } from '../../ops/cli/options.ts';
import { simulate } from './simulation.ts';

const { values } = parseOptions(import.meta.filename, {
  options: {
    seed: { type: 'string' },
    from: { type: 'string', default: '1' },
    count: { type: 'string', default: '1' },
    verbose: { type: 'boolean', default: false },
  },
});

const from = parseCount('seed', values.seed ?? values.from, [0, 2 ** 32]);
const count = values.seed === undefined ? parseCount('count', values.count, [1, 2 ** 32]) : 1;
const last = from + count - 1;
const mix = new Map<string, number>();
let failed = 0;
let ops = 0;
let special = 0;
for (let seed = from; seed <= last; seed++) {
  const result = await simulate({ seed, ...(values.verbose ? { print: (line) => console.log(line) } : {}) });
  for (const [what, times] of result.counts) mix.set(what, (mix.get(what) ?? 0) + times);
  ops += result.ops;
  special += result.special;
  if (result.violations.length === 0) continue;
  failed += 1;
  console.log(`seed ${seed}: ${JSON.stringify(result.plan)}`);
  for (const violation of result.violations) console.log(`  ${violation}`);
}
for (const [what, times] of [...mix].sort()) console.log(`${String(times).padStart(8)}  ${what}`);
console.log(`${ops} operations, ${special} special; ${failed} of ${count} seeds failed`);
process.exitCode = failed > 0 ? 1 : 0;
