/**
 * `npm run bench -- capacity`: what directories of some sizes take, a prediction for larger ones that is
 * written to a file before the next is measured, and how well it holds.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseChoice, parseCount, text } from '../arguments.ts';
import {
  compareNeeds,
  fitModel,
  type MeasuredSize,
  type Needs,
  predict,
  type Size,
} from '../capacity/model.ts';
import { measureSize } from '../capacity/size.ts';
import { describeMachine } from '../machine/machine.ts';
import { formatGrouped } from '../report/tables.ts';
import { alignColumns } from '../report/text.ts';
import type { Stores } from '../servers/stores.ts';
import { type CommandContext, defineCommand, interruptedCode } from './command.ts';

const usage = `Usage: npm run bench -- capacity [options]

  --stores NAME    redis (default: Redis and Postgres), or embedded
  --sizes LIST     listings of the directories that the model is made of (1000,30000,300000)
  --check N        then one of this size is measured and compared; 0: none (1000000)
  --predict LIST   sizes to predict (1000000,10000000)
  --out FOLDER     where results go (bench/results/capacity)

Memory is that of each process under a load on 1,000 listings; of Redis and Postgres, what they share counts
once. Disk is the folder of Postgres, or the data folder, without the write-ahead log, which stands apart. CPU
is of the node and of Redis. What 10,000 listings more in use take is printed beside.
`;

const tolerance = 0.15;

interface Wanted {
  readonly kind: Stores['kind'];
  readonly sizes: readonly number[];
  readonly check: number;
  readonly predicted: readonly number[];
  readonly out: string;
}

const parseSizes = (name: string, list: string): readonly number[] =>
  list.split(',').map((size) => parseCount(name, size, [100, 100_000_000]));

const formatNeed = (value: number): string =>
  value < 100 ? value.toFixed(value < 10 ? 2 : 1) : formatGrouped(value);

const toRow = (what: string, { listings, needs }: Size): readonly string[] => [
  what,
  formatGrouped(listings),
  ...Object.values(needs).map(formatNeed),
];

const describeSizes = (rows: readonly (readonly string[])[], { needs }: Size): string =>
  alignColumns({ head: ['', 'listings', ...Object.keys(needs)], textColumns: 1, rows });

const describeNeeds = (needs: Needs): string =>
  Object.entries(needs)
    .map(([name, value]) => `${name} ${formatNeed(value)}`)
    .join(', ');

/** Resolves to the exit code: 1 when a prediction is off by more than 15 %. */
const run = async (wanted: Wanted, { live, stop }: CommandContext): Promise<number> => {
  // The servers and stores end with this process.
  stop.addEventListener('abort', () => process.exit(interruptedCode));
  const { kind, sizes, check, predicted, out } = wanted;
  const file = join(out, `${kind}.json`);
  mkdirSync(out, { recursive: true });
  const result: Record<string, unknown> = { machine: describeMachine(), kind };
  const save = (more: Record<string, unknown>): void =>
    writeFileSync(file, `${JSON.stringify(Object.assign(result, more), null, 2)}\n`);
  const measure = async (listings: number): Promise<MeasuredSize> => {
    const size = await measureSize({ listings, kind, live }).finally(() => live.clear());
    console.log(describeSizes([toRow('measured', size)], size));
    if (size.inUse !== null) console.log(`10,000 more in use: ${describeNeeds(size.inUse)}`);
    return size;
  };
  const measured: MeasuredSize[] = [];
  for (const listings of sizes) {
    measured.push(await measure(listings));
    save({ measured });
  }
  const model = fitModel(measured);
  const predictions = predicted.map((listings) => predict(model, listings));
  save({ model, predictions });
  const [first] = predictions as [Size];
  const rows = predictions.map((size) => toRow('predicted', size));
  console.log(`\n${describeSizes(rows, first)}\n(written to ${file})\n`);
  if (check === 0) return 0;
  const checked = await measure(check);
  const ratios = compareNeeds(checked.needs, predict(model, check).needs);
  save({ checked, ratios });
  console.log(describeSizes([toRow('measured ÷ predicted', { listings: check, needs: ratios })], first));
  return Object.values(ratios).every((ratio) => Math.abs(ratio - 1) <= tolerance) ? 0 : 1;
};

export const runCapacity = defineCommand({
  usage,
  options: { stores: text, sizes: text, check: text, predict: text, out: text },
  parse: (given): Wanted => ({
    kind: parseChoice('stores', given.stores ?? 'redis', ['redis', 'embedded']),
    sizes: parseSizes('sizes', given.sizes ?? '1000,30000,300000'),
    check: parseCount('check', given.check ?? '1000000', [0, 10_000_000]),
    predicted: parseSizes('predict', given.predict ?? '1000000,10000000'),
    out: given.out ?? 'bench/results/capacity',
  }),
  run,
});
