/**
 * `npm run bench -- growth`: measures what changes when the directory grows from a thousand to a million
 * bots.
 *
 * Every size gets stores of its own; those of the smallest stay open, to compare the others with. Ctrl-C ends
 * the current size and reports the sizes before it.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { flag, parseCount, parseWords, text } from '../arguments.ts';
import { measureActors } from '../growth/actors.ts';
import { measurePoint, openWorld, type Point, type World } from '../growth/point.ts';
import { buildGrowthTable, renderGrowth } from '../growth/report.ts';
import { describeMachine, type Machine } from '../machine/machine.ts';
import type { Live } from '../report/live.ts';
import { alignColumns } from '../report/text.ts';

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

/** The exit code. Throws `ArgumentError`. */
export const runGrowth = async (
  args: readonly string[],
  live: Live,
  signal: AbortSignal,
): Promise<number> => {
  const given = parseWords(args, { sizes: text, outage: text, out: text, help: flag }).values;
  if (given.help) {
    console.log(usage);
    return 0;
  }
  const sizes = parseSizes(given.sizes ?? '1000,10000,100000,1000000').sort((a, b) => a - b);
  const outageSeconds = parseCount('outage', given.outage ?? '60', [1, 3_600]);
  const machine = describeMachine();
  const bytesPerActor = await measureActors();
  live.print(`a live actor takes ${bytesPerActor} bytes`);
  const points: Point[] = [];
  const stopped = new Promise<null>((resolve) => signal.addEventListener('abort', () => resolve(null)));
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
  if (!signal.aborted) await opened[0]?.close();
  live.clear();
  const growth: Growth = { machine, bytesPerActor, points };
  if (points.length > 0)
    console.log(`\n${alignColumns(buildGrowthTable(points))}\n\nReport: ${write(given.out, growth)}`);
  if (signal.aborted) process.exit(130);
  return points.length === sizes.length ? 0 : 1;
};

const write = (folder = 'bench/results/growth', growth: Growth): string => {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'growth.json'), `${JSON.stringify(growth, null, 2)}\n`);
  const page = join(folder, 'growth.md');
  writeFileSync(page, renderGrowth(growth));
  return page;
};
