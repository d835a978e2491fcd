/**
 * `npm run bench -- load`: what a request costs at the load that people have, 10 to 1,000 requests a second
 * spread evenly over 1,000 bots, next to the peers in turn.
 *
 * Ctrl-C ends the servers and reports what was measured.
 */
import { text } from '../arguments.ts';
import { describeMachine } from '../machine/machine.ts';
import { measureSyncMs } from '../machine/sync.ts';
import { parseCount, parseNames } from '../options.ts';
import type { SteadyRow } from '../report/result.ts';
import { buildSteadyTable, collectSteadyRatios, describeSteady } from '../report/steady.ts';
import { alignColumns } from '../report/table.ts';
import { createDirectory } from '../scenarios/directory.ts';
import { peerNames } from '../scenarios/scenario.ts';
import { type ServerName, serverNames, startContestants } from '../servers/contestants.ts';
import type { ServerProcess } from '../servers/process.ts';
import { createFolder } from '../servers/rollcall.ts';
import { openStores } from '../servers/stores.ts';
import { countSteadyUsers, measureSteady, type SteadyPlan, steadyScenarios } from '../steady/measure.ts';
import { type CommandContext, defineCommand, interruptedCode, type OptionValues } from './command.ts';

const usage = `Usage: npm run bench -- load [options]

  --rates LIST       requests per second (10,50,200,1000)
  --only NAMES       of ${steadyScenarios.join(', ')}
  --servers NAMES    of ${serverNames.join(', ')}
  --seconds S        measured seconds of each (10)
  --rounds N         how often each is measured (1)
  --bots N           bots in the directory (1000)
  --json FILE        also writes the figures to FILE
  --profile FOLDER   also writes a CPU profile of the server to FOLDER

With everything it takes 23 minutes.
`;

interface LoadOptions {
  readonly plan: SteadyPlan;
  readonly bots: number;
  readonly profileDir: string | null;
}

const options = {
  ...{ rates: text, only: text, servers: text, seconds: text, rounds: text, bots: text },
  ...{ json: text, profile: text },
};

const parse = (given: OptionValues<typeof options>): LoadOptions => {
  const rates = (given.rates ?? '10,50,200,1000').split(',');
  return {
    plan: {
      servers: parseNames('servers', given.servers ?? serverNames.join(','), serverNames),
      scenarios: parseNames('only', given.only ?? steadyScenarios.join(','), steadyScenarios),
      rates: rates.map((rate) => parseCount('rates', rate, [1, 5_000])),
      rounds: parseCount('rounds', given.rounds ?? '1', [1, 100]),
      seconds: parseCount('seconds', given.seconds ?? '10', [1, 3_600]),
      lowSeconds: 60,
      atOnce: false,
    },
    bots: parseCount('bots', given.bots ?? '1000', [10, 1_000_000]),
    profileDir: given.profile ?? null,
  };
};

const measure = async (
  { plan, bots, profileDir }: LoadOptions,
  { live, stop: signal }: CommandContext,
): Promise<SteadyRow[]> => {
  const directory = createDirectory({ bots, users: countSteadyUsers(plan, bots) });
  const rows: SteadyRow[] = [];
  const isMeasured = (name: ServerName): boolean => plan.servers.includes(name);
  const peers = peerNames.filter(isMeasured);
  const folder = createFolder();
  const started = new Map<ServerName, ServerProcess>();
  const stores = await openStores('redis', peers.length > 0);
  try {
    const wanted = { stores, directory, folder, peers, embedded: isMeasured('rollcall-embedded') };
    const servers = await startContestants({ ...wanted, profileDir }, started);
    await measureSteady({ servers, stores, directory, live, signal, usedSeconds: 0 }, plan, rows);
  } finally {
    live.clear();
    await Promise.all([...started.values()].map((server) => server.stop()));
    await stores.close();
    folder.remove();
  }
  return rows;
};

/** Prints what was measured. Resolves to the exit code. */
const run = async (given: LoadOptions, context: CommandContext): Promise<number> => {
  const machine = describeMachine();
  const rows = await measure(given, context);
  const steady = { rows, syncMs: measureSyncMs() };
  if (steady.rows.length === 0) return interruptedCode;
  const ratios = collectSteadyRatios(steady);
  console.log(`${describeSteady(steady)}\n\n${alignColumns(buildSteadyTable(steady))}\n`);
  for (const [name, ratio] of Object.entries(ratios)) console.log(`${name} ${ratio}`);
  context.writeJson({ machine, ...steady, ratios });
  return context.stop.aborted ? interruptedCode : 0;
};

export const runLoad = defineCommand({ usage, options, parse, run });
