/**
 * Load on a server that already runs (`--url`): requests/s, latency, bytes, errors. Compares nothing and
 * reads no CPU, because the server is not ours.
 *
 * Changes data there: posts, clicks and votes count for the bots and users of the tokens file. arguments.ts
 * (`targetOf`) has the safeguards.
 */
import type { Options } from './arguments.ts';
import { openAutocannon } from './load/autocannon.ts';
import type { Load } from './load/order.ts';
import { describeMachine } from './machine/machine.ts';
import { countTargetUsers } from './plan.ts';
import type { Live } from './report/live.ts';
import { type Result, type Sample, toScenarioFigures } from './report/result.ts';
import type { Directory } from './scenarios/directory.ts';
import type { LoadScenarioName } from './scenarios/scenario.ts';
import { readTokens, type Target } from './servers/target.ts';

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

const cpuUnknown = { cpuUs: 0, mainCpuUs: 0, redisCpuUs: 0, postgresCpuUs: 0, cores: 0, residentBytes: 0 };

const measure = async (load: Load, { options, target, scenario, round }: Turn): Promise<Sample> => {
  const { connections, rate, warmupSeconds, measureSeconds } = options;
  // `mixed` continues with the votes after those of `vote`.
  const turn = round - 1 + (scenario === 'mixed' ? options.rounds : 0);
  const usedSeconds = turn * (warmupSeconds + measureSeconds);
  const seconds = { usedSeconds, warmupSeconds, measureSeconds };
  const order = { scenario, round, url: target.url, connections, rate, placement: null, ...seconds };
  const result = await load.measure(order, { begun: () => {}, ended: () => {} });
  return { scenario, server: 'rollcall', round, placement: 'free', load: result, ...cpuUnknown };
};
interface Turn {
  readonly options: Options;
  readonly target: Target;
  readonly scenario: LoadScenarioName;
  readonly round: number;
}

interface TargetRun {
  readonly options: Options;
  readonly target: Target;
  readonly directory: Directory;
  readonly load: Load;
  readonly live: Live;
  readonly signal: AbortSignal;
  readonly samples: Sample[];
}

/** Throws a message when the votes of this scenario would come to an end. */
const requireUsers = ({ options, directory }: TargetRun, scenario: LoadScenarioName): void => {
  const { connections } = options;
  const bots = directory.bots.length;
  const needed = countTargetUsers({ ...options, bots, scenarios: [scenario] });
  if (directory.users.length >= needed) return;
  throw new Error(
    `${connections} connections need ${needed} users for their votes, and the tokens file has ` +
      `${directory.users.length}: write more (tokens FOLDER --users ${needed}), or have fewer --connections.`,
  );
};

const measureScenario = async (run: TargetRun, scenario: LoadScenarioName): Promise<void> => {
  const { options, target, live, load } = run;
  requireUsers(run, scenario);
  for (let round = 1; round <= options.rounds && !run.signal.aborted; round++) {
    live.show(`${scenario}, round ${round} of ${options.rounds} …`);
    const sample = await measure(load, { options, target, scenario, round });
    run.samples.push(sample);
    const { requestsPerSecond, latencyMs } = sample.load;
    const p99 = (latencyMs[4] ?? 0).toFixed(1);
    live.print(`  ${scenario} ${round}: ${Math.round(requestsPerSecond)} requests/s, p99 ${p99} ms`);
  }
};

/** Returns what failed. A scenario that fails does not end the run. */
const measureScenarios = async (run: TargetRun, names: readonly LoadScenarioName[]): Promise<string[]> => {
  const problems: string[] = [];
  for (const name of names) {
    if (run.signal.aborted) break;
    try {
      await measureScenario(run, name);
    } catch (error) {
      if (run.signal.aborted) break;
      problems.push(`${name}: ${(error as Error).message}`);
      run.live.print(`  ${problems.at(-1)}`);
    }
  }
  return problems;
};

/** Like runSuite, against `options.target`. */
export const runTarget = async (options: Options, live: Live, signal: AbortSignal): Promise<Result> => {
  const { target } = options;
  if (target === null) throw new Error('no target');
  const directory = readTokens(target.tokensFile);
  await lookAt(target, directory);
  const scenarios = options.scenarios.filter((name) => name !== 'idle');
  const samples: Sample[] = [];
  const load = openAutocannon(directory);
  signal.addEventListener('abort', () => void load.close());
  const machine = describeMachine();
  const pace = options.rate === 0 ? 'as fast as it answers' : `${options.rate} requests/s`;
  live.print(`${target.url}: ${options.connections} connections, ${pace}`);
  const run: TargetRun = { options, target, directory, load, live, signal, samples };
  const problems = await measureScenarios(run, scenarios).finally(load.close);
  return {
    version: 2,
    machine,
    stores: target.url,
    load: load.name,
    placements: ['free'],
    connections: options.connections,
    rate: options.rate,
    measureSeconds: options.measureSeconds,
    settings: {},
    ratios: {},
    scenarios: scenarios
      .filter((name) => samples.some((sample) => sample.scenario === name))
      .map((name) => toScenarioFigures(name, samples, ['rollcall'])),
    steady: null,
    races: null,
    idle: [],
    moments: [],
    samples,
    interrupted: signal.aborted,
    problems,
  };
};
