/**
 * Compares a running node with the client's log, over HTTP alone, with no load on it: every bot's stats and
 * clicks, the voters of every target, and one bot's votes against their rows.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { createRandom, type Random } from '../../ops/demo/random.ts';
import type { Directory } from '../support/directory.ts';
import { type Client, createClient } from '../support/http-client.ts';
import { type StartedNode, startNode } from '../support/node-process.ts';
import { readAtRest } from './at-rest.ts';
import { type ClientLog, createLog, endLife, type VoteOp } from './client-log.ts';
import { demandClean, type Figures } from './figures.ts';
import { createVerdict, judgeClicks, judgeStats, judgeVotes, tally, type Verdict } from './judge.ts';
import { keyOf, look } from './load.ts';

const voteWaitHours = 0.01;
const waitMs = voteWaitHours * 3_600_000;
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
  readonly dice: Random;
  readonly log: ClientLog;
  readonly client: Client;
  readonly verdict: Verdict;
  /** Faults without a name of their own. */
  readonly wrong: string[];
}
export type RunPlan = Pick<Run, 'dataDir' | 'directory' | 'connections'> & { readonly seed: number };

export const createRun = (plan: RunPlan): Run => ({
  dataDir: plan.dataDir,
  directory: plan.directory,
  connections: plan.connections,
  dice: createRandom(plan.seed),
  log: createLog(),
  client: createClient(plan.connections),
  verdict: createVerdict(),
  wrong: [],
});

/** All bots, and the voters of every target: the load is not running. */
export const judgeOverHttp = async (run: Run, node: StartedNode): Promise<void> => {
  const { directory, log, client } = run;
  const parts = { ...run, url: node.url };
  await Promise.all(directory.bots.map((bot) => look(parts, bot)));
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
  const bot = run.dice.pick(directory.bots);
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

/** Reads, again after a 503: a reader is told to when the rows he needs are still on their way. */
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

/** Holds both stores at rest against each other and the log. Returns the number of dead letters. */
export const judgeAtRest = async (run: Run): Promise<number> => {
  const { rows, differences, buried } = await readAtRest(run.dataDir, run.directory.targets);
  run.wrong.push(...differences);
  judgeVotes(run.log, { rows, waitMs }, run.verdict);
  return buried;
};

/** One more life that ends well: then both stores must say the same, and what the log says. */
export const lastLook = async (
  run: Run,
  before: (node: StartedNode) => Promise<void> = async () => {},
): Promise<number> => {
  const node = await startNode({ dataDir: run.dataDir, settings });
  try {
    await before(node);
    await judgeOverHttp(run, node);
    await stopWell(run, node);
  } finally {
    await node.kill();
  }
  return judgeAtRest(run);
};

/** The figures of a run, or an error with all that was wrong. */
export const conclude = (run: Run, rounds: number, startedMs: number): Figures => {
  const { log, verdict } = run;
  judgeStats(log, verdict);
  judgeClicks(log, verdict);
  demandClean(verdict, [...run.wrong, ...log.strange]);
  return {
    ...tally(log),
    lost: verdict.lost.length + verdict.fell.length,
    doubled: verdict.doubled.length + verdict.mixed.length,
    rounds,
    seconds: (performance.now() - startedMs) / 1_000,
  };
};
