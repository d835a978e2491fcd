/**
 * Load on a server that already runs (`--url`): requests/s, latency, bytes, errors. Compares nothing and
 * reads no CPU, because the server is not ours.
 *
 * Changes data there: posts, clicks and votes count for the bots and users of the tokens file.
 * servers/target.ts has the safeguards.
 */
import { openAutocannon } from '../load/autocannon.ts';
import { type Load, unwatched } from '../load/order.ts';
import { countTargetUsers } from '../plan.ts';
import type { Live } from '../report/live.ts';
import { latencyOf, type Row } from '../report/rows.ts';
import type { SuiteResult } from '../report/suite.ts';
import type { Directory } from '../scenarios/directory.ts';
import type { LoadScenarioName } from '../scenarios/scenario.ts';
import { readTokens, type Target } from '../servers/target.ts';

/** Throws a message when the server does not answer, or does not know the bots. */
const lookAt = async ({ url }: Target, { bots }: Directory): Promise<void> => {
  const id = bots[0]?.id;
  const response = await fetch(`${url}/bots/${id}`).catch(() => null);
  if (response === null) throw new Error(`${url} does not answer. Is the server running there?`);
  await response.arrayBuffer();
  if (response.ok) return;
  throw new Error(
    `${url}/bots/${id} answers ${response.status}. The bots of the tokens file must be there: ` +
      'npm run bench -- tokens --help makes some to import.',
  );
};

const unknown = { serverUs: 0, redisUs: 0, postgresUs: 0, wakeUps: 0, diskBytes: 0, residentBytes: 0 };

interface Run extends Pick<SuiteResult, 'options' | 'rows'> {
  readonly target: Target;
  readonly directory: Directory;
  readonly load: Load;
  readonly live: Live;
}

/** Throws a message when the votes of this scenario would come to an end. */
const requireUsers = ({ options, directory }: Run, scenario: LoadScenarioName): void => {
  const { connections } = options;
  const bots = directory.bots.length;
  const needed = countTargetUsers({ ...options, bots, scenarios: [scenario] });
  if (directory.users.length >= needed) return;
  throw new Error(
    `${connections} connections need ${needed} users for their votes, and the tokens file has ` +
      `${directory.users.length}: write more (tokens FOLDER --users ${needed}), or have fewer --connections.`,
  );
};

const measure = async (
  { options, target, load }: Run,
  scenario: LoadScenarioName,
  round: number,
): Promise<Row> => {
  const { connections, rate, warmupSeconds, measureSeconds } = options;
  // `mixed` continues with the votes after those of `vote`.
  const turn = round - 1 + (scenario === 'mixed' ? options.rounds : 0);
  const usedSeconds = turn * (warmupSeconds + measureSeconds);
  const seconds = { usedSeconds, warmupSeconds, measureSeconds };
  const order = { scenario, round, url: target.url, connections, rate, placement: null, ...seconds };
  const { requests, latencyMs, failures, ...saturated } = await load.measure(order, unwatched);
  const row = { scenario, server: 'rollcall', load: 'free', round, requests, latencyMs, failures };
  return { ...row, ...unknown, saturated: { ...saturated, cores: 0 } };
};

const measureScenario = async (run: Run, scenario: LoadScenarioName): Promise<void> => {
  const { options, live, rows } = run;
  requireUsers(run, scenario);
  for (let round = 1; round <= options.rounds; round++) {
    live.show(`${scenario}, round ${round} of ${options.rounds} …`);
    const row = await measure(run, scenario, round);
    rows.push(row);
    const perSecond = Math.round(row.saturated?.requestsPerSecond ?? 0);
    live.print(`  ${scenario} ${round}: ${perSecond} requests/s, p99 ${latencyOf(99)(row).toFixed(1)} ms`);
  }
};

/** Adds to `rows`; a scenario that fails does not end the run. */
export const runTarget = async (
  { options, rows, problems }: SuiteResult,
  target: Target,
  live: Live,
): Promise<void> => {
  const directory = readTokens(target.tokensFile);
  await lookAt(target, directory);
  const load = openAutocannon(directory);
  const pace = options.rate === 0 ? 'as fast as it answers' : `${options.rate} requests/s`;
  live.print(`${target.url}: ${options.connections} connections, ${pace}`);
  const run = { options, rows, target, directory, load, live };
  for (const name of options.scenarios) {
    if (name === 'idle') continue;
    await measureScenario(run, name).catch((error: Error) => problems.push(`${name}: ${error.message}`));
  }
  await load.close();
};
