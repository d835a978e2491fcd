/**
 * Compares a running node with the client's log, over HTTP alone, with no load on it: every bot's stats and
 * clicks, the voters of every target, and one bot's votes against their rows.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { type ClientLog, createLog, endLife, type VoteOp } from '../../../bench/prove/client-log.ts';
import {
  createVerdict,
  forgetVisitors,
  judgeClicks,
  judgeStats,
  judgeVotes,
  tally,
  type Verdict,
} from '../../../bench/prove/judge.ts';
import { type Answer, type Client, createClient, type NoAnswer } from '../../../bench/shared/http-client.ts';
import { createRandom, type Random } from '../../../bench/shared/random.ts';
import type { Directory } from '../../support/directory.ts';
import { type NodeOptions, type StartedNode, startNode } from '../../support/node-process.ts';
import { readAtRest } from './at-rest.ts';
import { demandClean, type Figures } from './figures.ts';
import { keyOf, look, startLoad } from './load.ts';

const voteWaitHours = 0.01;
/** The window of a vote in these tests. */
export const waitMs = voteWaitHours * 3_600_000;
/** Windows of 36 s, so that they end during a test; visitors as a proxy names them. */
export const settings = {
  VOTE_WAIT_HOURS: String(voteWaitHours),
  VOTE_WAIT_PREMIUM_HOURS: String(voteWaitHours),
  VOTE_WAIT_WEEKEND_HOURS: String(voteWaitHours),
  TRUSTED_PROXIES: '127.0.0.1',
  STATS_POSTS_PER_SECOND: '1000000',
  STATS_POSTS_BURST: '1000000',
};

/** One data folder, its log, and what was found wrong so far. */
export interface Run {
  readonly dataDir: string;
  readonly directory: Directory;
  readonly connections: number;
  readonly random: Random;
  readonly log: ClientLog;
  readonly client: Client;
  readonly verdict: Verdict;
  /** Faults without a name of their own. */
  readonly wrong: string[];
  /** Every node that was started on the folder; `runEmbedded` ends them. */
  readonly nodes: StartedNode[];
}
export type RunPlan = Pick<Run, 'dataDir' | 'directory' | 'connections'> & { readonly seed: number };

export const createRun = (plan: RunPlan): Run => ({
  dataDir: plan.dataDir,
  directory: plan.directory,
  connections: plan.connections,
  random: createRandom(plan.seed),
  log: createLog(),
  client: createClient(plan.connections),
  verdict: createVerdict(),
  wrong: [],
  nodes: [],
});

export interface EmbeddedOptions {
  readonly rounds?: number;
  /** The hot store was replaced, so it does not know earlier visitors. */
  readonly forgets?: boolean;
}

/**
 * One run on embedded stores, from its log to its verdict: the task starts nodes with `openNode`, and stops
 * or kills them. Its own figures join those of the run.
 */
export const runEmbedded = async <More>(
  plan: RunPlan & EmbeddedOptions,
  task: (run: Run) => Promise<More>,
): Promise<Figures & More> => {
  const startedMs = performance.now();
  const run = createRun(plan);
  try {
    const more = await task(run);
    return { ...conclude(run, startedMs, plan), ...more };
  } catch (error) {
    const output = run.nodes.at(-1)?.output() ?? '';
    throw new Error(`${(error as Error).message}\n${output}`, { cause: error });
  } finally {
    for (const node of run.nodes) await node.kill();
    run.client.close();
  }
};

/** Starts a node on the run's folder, with the usual settings and these. */
export const openNode = async (run: Run, options: Partial<NodeOptions> = {}): Promise<StartedNode> => {
  const node = await startNode({
    dataDir: run.dataDir,
    ...options,
    settings: { ...settings, ...options.settings },
  });
  run.nodes.push(node);
  return node;
};

/** SIGKILL; what was in flight ends with that life. */
export const killNode = async (run: Run, node: StartedNode): Promise<void> => {
  await node.kill();
  endLife(run.log);
};

/** Load for so long, answered to its last request. */
export const loadFor = async (run: Run, node: StartedNode, milliseconds: number): Promise<void> => {
  const load = startLoad({ ...run, url: node.url });
  await sleep(milliseconds);
  await load.stop();
};

/** Every bot as it is shown now. */
export const lookAtBots = (run: Run, { url }: StartedNode): Promise<readonly (Answer | NoAnswer)[]> =>
  Promise.all(run.directory.bots.map((bot) => look({ ...run, url }, bot)));

/** All bots, and the voters of every target: the load is not running. */
export const judgeOverHttp = async (run: Run, node: StartedNode): Promise<void> => {
  const { directory, log, client } = run;
  await lookAtBots(run, node);
  const accepted = Map.groupBy(log.votes, (op) => op.target);
  await Promise.all(
    directory.targets.map(async (target) => {
      const voters = await read<string[]>(`${node.url}/${target.kind}s/${target.id}/votes/user-list`, client);
      judgeVoters(run, accepted.get(keyOf(target)) ?? [], voters);
    }),
  );
  await judgeRowsOfOne(run, node);
};

const judgeVoters = (run: Run, ops: readonly VoteOp[], voters: readonly string[]): void => {
  const listed = new Set(voters);
  const at = `after life ${run.log.life - 1}`;
  if (listed.size !== voters.length) run.verdict.doubled.push(`a voter is listed twice ${at}`);
  const may = new Set(ops.filter((op) => op.outcome !== 'fail').map(({ user }) => user));
  for (const voter of listed)
    if (!may.has(voter)) run.verdict.doubled.push(`voter ${voter} never voted ${at}`);
  for (const { user, target, outcome } of ops) {
    if (outcome === 'ok' && !listed.has(user))
      run.verdict.lost.push(`voter ${user} of ${target} is not listed ${at}`);
  }
};

/** The live total of one bot against the rows of all its voters. */
const judgeRowsOfOne = async (run: Run, { url }: StartedNode): Promise<void> => {
  const { client, directory } = run;
  const bot = run.random.pick(directory.bots);
  const voters = await read<string[]>(`${url}/bots/${bot}/votes/user-list`, client);
  let rows = 0;
  await Promise.all(
    voters.map(async (user) => {
      for (let page = 1, left = 1; left > 0; page++) {
        const all = await read<VotePage>(`${url}/users/${user}/bots/${bot}/votes/@all?page=${page}`, client);
        for (const { upvote } of all.results) rows += upvote ? 1 : -1;
        left = all.count - page * all.per_page;
      }
    }),
  );
  const { votes } = await read<{ votes: number }>(`${url}/bots/${bot}`, client);
  if (votes !== rows) run.wrong.push(`bot ${bot} has ${votes} votes hot and ${rows} by its rows`);
};

interface VotePage {
  readonly count: number;
  readonly per_page: number;
  readonly results: readonly { readonly upvote: boolean }[];
}

/** Reads, again after a 503: the rows that a reader needs may still be on their way. */
export const read = async <Content>(url: string, client: Client = plain): Promise<Content> => {
  for (let attempt = 1; ; attempt++) {
    const { status, text } = await client.ask(url);
    if (status === 200) return JSON.parse(text) as Content;
    if (status !== 503 || attempt === readsMax) throw new Error(`${url}: ${status} ${text}`);
    await sleep(500);
  }
};
const readsMax = 20;
const plain = createClient(4);

/** Stops a node with SIGTERM and demands that it ends well. */
export const stopWell = async (run: Run, node: StartedNode): Promise<void> => {
  const { code, signal } = await node.stop();
  if (code !== 0) run.wrong.push(`a stop ended with ${code ?? signal}:\n${node.output()}`);
  endLife(run.log);
};

/** Compares both stores at rest with each other and the log. Returns the number of dead letters. */
export const judgeAtRest = async (run: Run): Promise<number> => {
  const { rows, differences, deadLetters } = await readAtRest(run.dataDir, run.directory.targets);
  run.wrong.push(...differences);
  judgeVotes(run.log, { rows, waitMs }, run.verdict);
  return deadLetters;
};

/** One more life that ends well: then both stores must say the same, and what the log says. */
export const lastLook = async (
  run: Run,
  before: (node: StartedNode) => Promise<void> = async () => {},
): Promise<number> => {
  const node = await openNode(run);
  await before(node);
  await judgeOverHttp(run, node);
  await stopWell(run, node);
  return judgeAtRest(run);
};

/** The figures of a run, or an error with all that was wrong. */
export const conclude = (
  run: Run,
  startedMs: number,
  { rounds = 1, forgets = false }: EmbeddedOptions = {},
): Figures => {
  const { log, verdict } = run;
  judgeStats(log, verdict);
  judgeClicks(log, verdict);
  if (forgets) forgetVisitors(verdict);
  demandClean(verdict, [...run.wrong, ...log.strange]);
  return {
    ...tally(log),
    lost: verdict.lost.length + verdict.fell.length,
    doubled: verdict.doubled.length + verdict.mixed.length,
    rounds,
    seconds: (performance.now() - startedMs) / 1_000,
  };
};
