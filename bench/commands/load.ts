/**
 * `load`: what a request costs at the load that people have, 10 to 1,000 requests a second spread evenly over
 * 1,000 bots, next to the peers in turn.
 */
import { type Context, defineCommand } from '../command.ts';
import { measureSyncMs } from '../machine/sync.ts';
import { countSteadyUsers, measureSteady, type SteadyPlan, steadyScenarios } from '../measure/steady.ts';
import { count, counts, names, word } from '../options.ts';
import type { Row } from '../report/rows.ts';
import { buildSteadyTable, collectSteadyRatios, describeSteady } from '../report/steady.ts';
import { peerNames } from '../scenarios/scenario.ts';
import { serverNames, startContestants } from '../servers/contestants.ts';
import { openWorld } from '../servers/world.ts';

const describe = (rows: readonly Row[], bots: number) => {
  if (rows.length === 0) return { parts: [] };
  const [syncMs, ratios] = [measureSyncMs(), collectSteadyRatios(rows)];
  const lines = Object.entries(ratios).map(([name, ratio]) => `${name} ${ratio}`);
  const facts = { load: 'steady', bots };
  return {
    parts: [describeSteady(rows, syncMs), buildSteadyTable(rows), ...lines],
    figures: { version: 3, facts, rows, syncMs, ratios },
  };
};

export const load = defineCommand({
  name: 'load',
  about: '10, 50, 200, 1,000 requests/s, evenly over 1,000 bots: 22 minutes',
  options: {
    rates: counts([10, 50, 200, 1_000], [1, 5_000], 'requests per second'),
    only: names(steadyScenarios, 'of '),
    servers: names(serverNames, 'of '),
    seconds: count(10, [1, 3_600], 'measured seconds of each'),
    rounds: count(1, [1, 100], 'how often each is measured'),
    bots: count(1_000, [10, 1_000_000], 'bots in the directory'),
    profile: word('FOLDER', 'also writes a CPU profile of the server to FOLDER'),
  },
  endsWell: true,
  run: async ({ rates, only: scenarios, servers, seconds, rounds, bots, profile }, context: Context) => {
    const { live, stop: signal, report } = context;
    const plan: SteadyPlan = { scenarios, rates, rounds, seconds, lowSeconds: 60, atOnce: 'low rate' };
    const users = countSteadyUsers(plan, bots);
    const rows: Row[] = [];
    report(() => describe(rows, bots));
    const peers = peerNames.filter((name) => servers.includes(name));
    const world = await openWorld({
      stores: 'redis',
      bots,
      users,
      peers: peers.length > 0,
      profileDir: profile,
    });
    const embedded = servers.includes('rollcall-embedded');
    const all = await startContestants(world, { peers, embedded });
    const contestants = all.filter(({ name }) => servers.includes(name as (typeof servers)[number]));
    await measureSteady({ contestants, directory: world.directory, live, signal }, plan, rows);
  },
});
