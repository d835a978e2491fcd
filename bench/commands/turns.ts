/**
 * `turns OLD NEW`: runs two commits by turns and compares what a request costs.
 *
 * Each runs in a clean checkout of its own, on stores of its own. The load, the stores and the measuring are
 * those of this checkout. Both servers live through the whole run.
 */
import { join } from 'node:path';
import { type Context, defineCommand } from '../command.ts';
import { openLoad } from '../load/load.ts';
import { hasProc } from '../machine/cpu.ts';
import type { Contestant } from '../measure/round.ts';
import {
  countSteadyUsers,
  measureSteady,
  type SteadyPlan,
  saturation,
  steadyScenarios,
} from '../measure/steady.ts';
import { ArgumentError, count, names, parseCount, type Values, word } from '../options.ts';
import { findFailedClaims } from '../peers/check.ts';
import type { Row } from '../report/rows.ts';
import { createDirectory, type Directory } from '../scenarios/directory.ts';
import { votesPerConnectionAndSecond } from '../scenarios/vote.ts';
import { createFolder } from '../servers/rollcall.ts';
import { type Stores, storeKinds } from '../servers/stores.ts';
import { openWorld, type World } from '../servers/world.ts';
import { findCommit, makeCheckout } from '../turns/checkout.ts';
import { buildTurnsTable, compareTurns, listDearer, sides } from '../turns/report.ts';

const options = {
  stores: names(storeKinds, 'Redis and Postgres, or its own: '),
  only: names(steadyScenarios, 'of '),
  rates: word('LIST', 'requests per second, and max for saturation (50,1000,max)'),
  rounds: count(3, [1, 100], 'how often each is measured'),
  seconds: count(
    10,
    [1, 3_600],
    `measured seconds of each at a rate; at saturation ${saturation.measureSeconds}`,
  ),
  bots: count(1_000, [10, 100_000], 'bots in the directory'),
};
type Given = Values<typeof options>;

const parseRates = ({ rates }: Given): readonly number[] =>
  (rates ?? '50,1000,max')
    .split(',')
    .map((rate) => (rate === 'max' ? 0 : parseCount('rates', rate, [1, 5_000])));

/** The users of the steady loads, who come first, and those of saturation. */
const countUsers = ({ only, rounds, bots }: Given, plan: SteadyPlan) => {
  const steady = countSteadyUsers({ ...plan, rates: plan.rates.filter((rate) => rate > 0) }, bots);
  const seconds = only.length * rounds * (saturation.warmupSeconds + saturation.measureSeconds + 1);
  const saturated = 1 + Math.ceil((seconds * votesPerConnectionAndSecond) / bots);
  return { steady, all: steady + saturated * saturation.connections };
};

/** Starts the server of a checkout, as an operator does, with the directory on new stores. */
const openSide = async (
  name: string,
  { program, kind, directory }: { program: string; kind: Stores['kind']; directory: Directory },
): Promise<Contestant & { readonly world: World }> => {
  const world = await openWorld({ stores: kind, bots: directory.bots.length, directory, program });
  const process = await world.start();
  const failed = await findFailedClaims(process.url, directory, ['stats', 'read', 'page', 'vote']);
  if (failed.length === 0) return { name, process, stores: world.stores, world };
  throw new Error(`${name} does not do its work: ${failed.join('; ')}`);
};

interface Sides {
  readonly plan: SteadyPlan;
  readonly checkouts: string;
  readonly rows: Row[];
}

const measureOn = async (kind: Stores['kind'], given: Given, sidesOf: Sides & Context): Promise<void> => {
  const { live, stop: signal, plan, checkouts, rows } = sidesOf;
  const users = countUsers(given, plan);
  const whole = createDirectory({ bots: given.bots, users: users.all });
  const load = openLoad('auto', 0, { ...whole, users: whole.users.slice(users.steady) });
  const contestants: (Contestant & { readonly world: World })[] = [];
  const own: Row[] = [];
  try {
    for (const name of sides) {
      live.show(`${kind}: ${name} starts …`);
      const program = join(checkouts, name, 'ops/bin/rollcall');
      contestants.push(await openSide(name, { program, kind, directory: whole }));
    }
    const directory = { ...whole, users: whole.users.slice(0, users.steady) };
    await measureSteady({ contestants, directory, load, live, signal }, plan, own);
  } finally {
    rows.push(...own.map((row) => ({ ...row, scenario: `${kind} ${row.scenario}` })));
    await load.close();
    await Promise.all(contestants.map(({ world }) => world.close()));
  }
};

const run = async (given: Given, context: Context): Promise<void> => {
  const { operands, live, stop, report } = context;
  if (operands.length !== 2)
    throw new ArgumentError('turns needs two commits: npm run bench -- turns OLD NEW');
  if (!hasProc) throw new ArgumentError('turns needs Linux: it reads CPU, memory and disk in /proc.');
  const commits = operands.map(findCommit);
  const { only: scenarios, rounds, seconds } = given;
  const plan: SteadyPlan = {
    scenarios,
    rates: parseRates(given),
    rounds,
    seconds,
    lowSeconds: 20,
    atOnce: 'warm-up',
  };
  const rows: Row[] = [];
  report(() => {
    const comparisons = compareTurns(rows);
    const dearer = listDearer(comparisons);
    const verdict = dearer.length > 0 ? [] : ['No scenario is dearer by more than 2 %.'];
    return {
      parts: [`OLD ${commits[0]}\nNEW ${commits[1]}`, buildTurnsTable(comparisons), ...verdict],
      figures: { commits, rows, comparisons },
      faults: dearer,
    };
  });
  const { path: checkouts, remove } = createFolder();
  try {
    for (const [index, name] of sides.entries()) {
      live.show(`${name}: ${commits[index]} is installed …`);
      makeCheckout(commits[index] ?? '', join(checkouts, name));
    }
    for (const kind of given.stores)
      if (!stop.aborted) await measureOn(kind, given, { ...context, plan, checkouts, rows });
  } finally {
    remove();
  }
};

export const turns = defineCommand({
  name: 'turns',
  operands: 'OLD NEW',
  about: 'two commits by turns: ratios NEW ÷ OLD, and what is dearer; 25 minutes',
  more: `\
OLD and NEW are commits of this repository. Each is installed in a clean checkout (this needs npm's registry).
With everything it takes 25 minutes. Exits with 1 when a scenario is dearer by more than 2 %.`,
  options,
  endsWell: true,
  run,
});
