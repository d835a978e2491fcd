/**
 * `npm run bench -- turns OLD NEW`: runs two commits by turns and compares what a request costs.
 *
 * Each runs in a clean checkout of its own. The load, the stores and the measuring are those of this one.
 */
import { join } from 'node:path';
import { text } from '../arguments.ts';
import { openLoad } from '../load/load.ts';
import { hasProc } from '../machine/cpu.ts';
import { describeMachine } from '../machine/machine.ts';
import { ArgumentError, parseCount, parseNames } from '../options.ts';
import { alignColumns } from '../report/table.ts';
import { createDirectory } from '../scenarios/directory.ts';
import { votesPerConnectionAndSecond } from '../scenarios/vote.ts';
import { createFolder } from '../servers/rollcall.ts';
import { countSteadyUsers, steadyScenarios } from '../steady/measure.ts';
import { findCommit, makeCheckout } from '../turns/checkout.ts';
import { measureTurns, openSide, type Side, saturation, type TurnsPlan } from '../turns/measure.ts';
import { buildTurnsTable, compareTurns, listDearer, sides, type TurnRow } from '../turns/report.ts';
import { type CommandContext, defineCommand, interruptedCode, type OptionValues } from './command.ts';

const kinds = ['embedded', 'redis'] as const;
const usage = `Usage: npm run bench -- turns OLD NEW [options]

OLD and NEW are commits of this repository. Each is installed in a clean checkout (this needs npm's registry).

  --stores NAMES     of ${kinds.join(', ')} (Redis and Postgres); default both
  --only NAMES       of ${steadyScenarios.join(', ')}
  --rates LIST       requests per second, and max for saturation (50,1000,max)
  --rounds N         how often each is measured (3)
  --seconds S        measured seconds of each at a rate (10); at saturation ${saturation.seconds}
  --bots N           bots in the directory (1000)
  --json FILE        also writes the figures to FILE

With everything it takes 25 minutes. Exits with 1 when a scenario is dearer by more than 2 %.
`;

interface TurnsOptions {
  readonly commits: readonly string[];
  readonly stores: readonly (typeof kinds)[number][];
  readonly plan: TurnsPlan;
  readonly bots: number;
}

const options = {
  ...{ stores: text, only: text, rates: text, rounds: text, seconds: text, bots: text, json: text },
};

const parse = (given: OptionValues<typeof options>, operands: readonly string[]): TurnsOptions => {
  if (operands.length !== 2) throw new ArgumentError(`turns needs two commits.\n\n${usage}`);
  if (!hasProc) throw new ArgumentError('turns needs Linux: it reads CPU, memory and disk in /proc.');
  const rates = (given.rates ?? '50,1000,max').split(',');
  return {
    commits: operands.map(findCommit),
    stores: parseNames('stores', given.stores ?? kinds.join(), kinds),
    plan: {
      scenarios: parseNames('only', given.only ?? steadyScenarios.join(), steadyScenarios),
      rates: rates.filter((rate) => rate !== 'max').map((rate) => parseCount('rates', rate, [1, 5_000])),
      saturates: rates.includes('max'),
      rounds: parseCount('rounds', given.rounds ?? '3', [1, 100]),
      seconds: parseCount('seconds', given.seconds ?? '10', [1, 3_600]),
    },
    bots: parseCount('bots', given.bots ?? '1000', [10, 100_000]),
  };
};

/** The users of the steady loads come first. */
const countUsers = ({ plan, bots }: TurnsOptions) => {
  const steady = countSteadyUsers({ ...plan, servers: [], lowSeconds: 60, atOnce: true }, bots);
  const seconds = plan.scenarios.length * plan.rounds * (saturation.warmupSeconds + saturation.seconds + 1);
  const saturated = 1 + Math.ceil((seconds * votesPerConnectionAndSecond) / bots);
  return { steady, all: steady + saturated * saturation.connections };
};

const measureOn = async (
  kind: TurnsOptions['stores'][number],
  given: TurnsOptions,
  { live, stop: signal, checkouts, rows }: CommandContext & { checkouts: string; rows: TurnRow[] },
): Promise<void> => {
  const users = countUsers(given);
  const directory = createDirectory({ bots: given.bots, users: users.all });
  const load = openLoad('auto', 0, { ...directory, users: directory.users.slice(users.steady) });
  const opened: Side[] = [];
  try {
    for (const name of sides) {
      live.show(`${kind}: ${name} starts …`);
      opened.push(await openSide(name, { checkout: join(checkouts, name), kind, directory }));
    }
    const steady = { ...directory, users: directory.users.slice(0, users.steady) };
    await measureTurns({ opened, directory: steady, load, live, signal }, given.plan, rows);
  } finally {
    await load.close();
    await Promise.all(opened.map((side) => side.stop()));
  }
};

const run = async (given: TurnsOptions, context: CommandContext): Promise<number> => {
  const { path: checkouts, remove } = createFolder();
  const rows: TurnRow[] = [];
  try {
    for (const [index, name] of sides.entries()) {
      context.live.show(`${name}: ${given.commits[index]} is installed …`);
      makeCheckout(given.commits[index] ?? '', join(checkouts, name));
    }
    for (const kind of given.stores)
      if (!context.stop.aborted) await measureOn(kind, given, { ...context, checkouts, rows });
  } finally {
    context.live.clear();
    remove();
  }
  const comparisons = compareTurns(rows);
  const dearer = listDearer(comparisons);
  context.writeJson({ machine: describeMachine(), commits: given.commits, rows, comparisons });
  console.log(`OLD ${given.commits[0]}\nNEW ${given.commits[1]}\n`);
  console.log(alignColumns(buildTurnsTable(comparisons)));
  console.log(`\n${dearer.join('\n') || 'No scenario is dearer by more than 2 %.'}`);
  if (context.stop.aborted) return interruptedCode;
  return dearer.length > 0 ? 1 : 0;
};

export const runTurns = defineCommand({ usage, options, parse, run, hasOperands: true });
