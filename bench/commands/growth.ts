/**
 * `npm run bench -- growth`: measures what changes when the directory grows from a thousand to a million
 * bots.
 *
 * Every size gets stores of its own; those of the smallest stay open, to compare the others with. Ctrl-C ends
 * the current size and reports the sizes before it.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseCount, text } from '../arguments.ts';
import { measureActors } from '../growth/actors.ts';
import { measurePoint, openWorld, type Point, type World } from '../growth/point.ts';
import { buildGrowthTable, renderGrowth } from '../growth/report.ts';
import { describeMachine, type Machine } from '../machine/machine.ts';
import { alignColumns } from '../report/text.ts';
import { type CommandContext, defineCommand, interruptedCode } from './command.ts';

const usage = `Usage: npm run bench -- growth [options]

  --sizes LIST       bots in the directory (1000,10000,100000,1000000); the last takes some minutes
  --outage SECONDS   how long Postgres is away (60)
  --out FOLDER       where the report goes (bench/results/growth)
`;

export interface Growth {
  readonly machine: Machine;
  readonly bytesPerActor: number;
  readonly points: readonly Point[];
}

const parseSizes = (list: string): number[] =>
  list.split(',').map((word) => parseCount('sizes', word, [100, 10_000_000]));

interface GrowthOptions {
  readonly sizes: readonly number[];
  readonly outageSeconds: number;
  readonly out: string;
}

/** Resolves to the exit code. */
const run = async (
  { sizes, outageSeconds, out }: GrowthOptions,
  context: CommandContext,
): Promise<number> => {
  const { live, stop, stopped } = context;
  const machine = describeMachine();
  const bytesPerActor = await measureActors();
  live.print(`a live actor takes ${bytesPerActor} bytes`);
  const points: Point[] = [];
  const opened: World[] = [];
  const measure = async (entities: number): Promise<Point> => {
    live.print(`${entities.toLocaleString('en-US')} bots`);
    const world = await openWorld(entities, live);
    opened.push(world);
    const [smallest] = opened;
    const other = smallest === undefined || smallest === world ? null : smallest;
    try {
      return await measurePoint(world, other, { outageSeconds, live });
    } finally {
      // The others need the smallest to the end.
      if (other !== null) await world.close();
    }
  };
  for (const entities of sizes) {
    const point = await Promise.race([measure(entities), stopped]).catch((error: Error) => {
      live.print(`  not measured: ${error.message}`);
      return undefined;
    });
    if (point === null) break;
    if (point !== undefined) points.push(point);
  }
  if (!stop.aborted) await opened[0]?.close();
  live.clear();
  const growth: Growth = { machine, bytesPerActor, points };
  if (points.length > 0)
    console.log(`\n${alignColumns(buildGrowthTable(points))}\n\nReport: ${write(out, growth)}`);
  if (stop.aborted) process.exit(interruptedCode);
  return points.length === sizes.length ? 0 : 1;
};

const write = (folder: string, growth: Growth): string => {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'growth.json'), `${JSON.stringify(growth, null, 2)}\n`);
  const page = join(folder, 'growth.md');
  writeFileSync(page, renderGrowth(growth));
  return page;
};

export const runGrowth = defineCommand({
  usage,
  options: { sizes: text, outage: text, out: text },
  parse: (given) => ({
    sizes: parseSizes(given.sizes ?? '1000,10000,100000,1000000').sort((a, b) => a - b),
    outageSeconds: parseCount('outage', given.outage ?? '60', [1, 3_600]),
    out: given.out ?? 'bench/results/growth',
  }),
  run,
});
