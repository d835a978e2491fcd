/**
 * `npm run bench -- prove`: drives a server, while its operator may kill any part of it, and judges in the
 * end what it acknowledged by what it has. Without `--url` it starts the server itself, and kills it.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { ArgumentError, flag, parseCount, parseTarget, text } from '../arguments.ts';
import {
  type Disturbance,
  disturbances,
  type OwnServers,
  startOwn,
  startOwnPeer,
} from '../prove/own-servers.ts';
import { type ProveOptions, prove } from '../prove/prove.ts';
import { describeProofs } from '../prove/table.ts';
import type { Proof } from '../prove/verdict.ts';
import { createDirectory } from '../scenarios/directory.ts';
import { type PeerName, peerNames } from '../scenarios/scenario.ts';
import { killOnExit } from '../servers/process.ts';
import { createRandom, type Random } from '../shared/random.ts';
import { readTokens } from '../target.ts';
import { type CommandContext, defineCommand, type OptionValues } from './command.ts';

const usage = `Usage: npm run bench -- prove [options]

Posts, clicks, votes and redeems with values of their own, reads, follows the feed, and receives webhooks;
then waits for quiet and compares what was acknowledged with what is there. Exits with 1 on any lie.

  --seconds N       how long to drive (30)
  --rate N          requests a second in all (150)
  --bots N          how many bots are driven (6)
  --while WHAT      meanwhile: a command for the shell, or nodes, redis, postgres, nothing: what of its own
                    servers is killed and started again (nodes)
  --nodes N         own nodes on a Redis and a Postgres; 0: one on embedded stores (0)
  --servers NAMES   rollcall (default), ${peerNames.join(', ')}: one after the other, in one table
  --seed N          of the load
  --json FILE       also writes the verdict to FILE

A server that already runs (it counts these requests; no other client may use these bots meanwhile):
  --url A[,B]       its addresses, best those of the nodes
  --tokens FILE     as "tokens FOLDER" writes them
  --direct          each address is one node: no number may ever fall there
  --history N       seconds to wait for a sample of the history at the end (0; own servers 75)
  --i-own-this      needed when an address is not this machine
`;

interface ProveArguments {
  readonly seconds: number;
  readonly rate: number;
  readonly bots: number;
  readonly during: string;
  readonly nodes: number;
  readonly servers: readonly string[];
  readonly seed: number;
  readonly urls: readonly string[];
  readonly tokensFile: string;
  readonly isLoopback: boolean;
  readonly isDirect: boolean;
  readonly historyMs: number;
}

const parseServers = (given: string): readonly string[] => {
  const names = given.split(',');
  for (const name of names) {
    if (name !== 'rollcall' && !peerNames.some((peer) => peer === name))
      throw new ArgumentError(`There is no server "${name}" to prove.`);
  }
  return names;
};

const options = {
  seconds: text,
  rate: text,
  bots: text,
  while: text,
  nodes: text,
  servers: text,
  seed: text,
  json: text,
  url: text,
  tokens: text,
  history: text,
  direct: flag,
  'i-own-this': flag,
} as const;

const parse = (given: OptionValues<typeof options>): ProveArguments => {
  const { tokens, 'i-own-this': mine } = given;
  const targets = (given.url?.split(',') ?? []).map((url) =>
    parseTarget({ url, 'i-own-this': mine, ...(tokens !== undefined && { tokens }) }),
  );
  const during = given.while ?? (targets.length === 0 ? 'nodes' : 'nothing');
  if (targets.length > 0 && during !== 'nothing' && disturbances.some((name) => name === during))
    throw new ArgumentError(`--while ${during} is for own servers: name a command that does it.`);
  const nodes = parseCount('nodes', given.nodes ?? '0', [0, 8]);
  if (nodes === 0 && ['redis', 'postgres'].includes(during))
    throw new ArgumentError(`--while ${during} needs --nodes 1 or more.`);
  return {
    seconds: parseCount('seconds', given.seconds ?? '30', [1, 86_400]),
    rate: parseCount('rate', given.rate ?? '150', [1, 5_000]),
    bots: parseCount('bots', given.bots ?? '6', [1, 100]),
    during,
    nodes,
    servers: parseServers(given.servers ?? 'rollcall'),
    seed: parseCount('seed', given.seed ?? String(Date.now() % 1_000_000), [0, 1_000_000_000]),
    urls: targets.flatMap((target) => target?.url ?? []),
    tokensFile: tokens ?? '',
    isLoopback: targets.every((target) => target?.isLoopback ?? true),
    isDirect: given.direct,
    historyMs:
      1_000 * parseCount('history', given.history ?? (targets.length === 0 ? '75' : '0'), [0, 3_600]),
  };
};

/* ------------------------------------------------------------- meanwhile */

/** Runs until its time is over, the log is full, or the run is interrupted. */
const createClock = ({ seconds }: ProveArguments, stop: AbortSignal, isFull: () => boolean) => {
  const endMs = performance.now() + seconds * 1_000;
  return (): boolean => performance.now() >= endMs || stop.aborted || isFull();
};

const tickMs = 200;
const disturbMsMax = 4_000;
/** For a command that starts again what it has stopped. */
const tidyMsMax = 60_000;

/** Kills one of the own servers after the other. */
const disturb = async (
  { servers, random, what }: { servers: OwnServers; random: Random; what: Disturbance },
  isOver: () => boolean,
): Promise<number> => {
  let times = 0;
  for (; !isOver(); times++) {
    await sleep(1_000 + random.below(disturbMsMax));
    if (isOver()) return times;
    await servers.disturb(what, random);
  }
  return times;
};

/** Runs a command of the shell beside the load; it is ended with it, and may take a while to tidy up. */
const runCommand = async (command: string, isOver: () => boolean): Promise<string> => {
  const child = spawn('sh', ['-c', command], { stdio: 'inherit', detached: true });
  killOnExit(child);
  const closed = once(child, 'close');
  const hasEnded = (): boolean => child.exitCode !== null || child.signalCode !== null;
  const endGroup = (signal: NodeJS.Signals): void => {
    if (!hasEnded()) process.kill(-(child.pid as number), signal);
  };
  while (!isOver()) await sleep(tickMs);
  const wasEarly = hasEnded();
  endGroup('SIGTERM');
  const timer = setTimeout(endGroup, tidyMsMax, 'SIGKILL');
  const [code, signal] = await closed;
  clearTimeout(timer);
  return `the command ended with ${code ?? signal}${wasEarly ? ' before the load did' : ''}`;
};

/* ------------------------------------------------------------- the runs */

interface Context extends Pick<CommandContext, 'live' | 'stop'> {
  readonly given: ProveArguments;
}

const ownUsers = 400;
const remoteClocksMs = 5_000;
const localClocksMs = 5;

const buildOptions = ({ given, live }: Context) => ({
  bots: given.bots,
  random: createRandom(given.seed),
  rate: given.rate,
  historyMs: given.historyMs,
  show: (line: string) => live.show(line),
});

/** A server of our own: started, driven, killed meanwhile, ended. */
const proveOwn = async (context: Context, name: string): Promise<Proof> => {
  const { given, live, stop } = context;
  const directory = createDirectory({ bots: given.bots, users: ownUsers });
  const isPeer = name !== 'rollcall';
  const servers = isPeer
    ? await startOwnPeer(name as PeerName, directory)
    : await startOwn({ directory, nodes: given.nodes });
  const options = buildOptions(context);
  const what = disturbances.find((one) => one === given.during);
  const meanwhile: ProveOptions['meanwhile'] = async (isFull) => {
    const isOver = createClock(given, stop, isFull);
    if (what === undefined) live.print(`${name}: ${await runCommand(given.during, isOver)}`);
    else if (what === 'nothing') while (!isOver()) await sleep(tickMs);
    else {
      const random = createRandom(given.seed + 1);
      live.print(`${name}: ${what} killed ${await disturb({ servers, random, what }, isOver)} times`);
    }
  };
  try {
    const { urls, waitMs } = servers;
    const own = { urls, waitMs, directory, isDirect: true, clocksMs: localClocksMs, firstId: 1 };
    return await prove({ ...options, ...own, meanwhile });
  } finally {
    await servers.close();
  }
};

const proveTarget = (context: Context): Promise<Proof> => {
  const { given, live, stop } = context;
  const { urls, isDirect, isLoopback } = given;
  const meanwhile: ProveOptions['meanwhile'] = async (isFull) => {
    const isOver = createClock(given, stop, isFull);
    if (given.during === 'nothing') while (!isOver()) await sleep(tickMs);
    else live.print(await runCommand(given.during, isOver));
  };
  return prove({
    ...buildOptions(context),
    urls,
    waitMs: null,
    directory: readTokens(given.tokensFile),
    isDirect,
    clocksMs: isLoopback ? localClocksMs : remoteClocksMs,
    // Above the numbers of every earlier run.
    firstId: Date.now() * 10,
    meanwhile,
  });
};

/** Resolves to the exit code: 0 without a lie, else 1. */
const run = async (given: ProveArguments, { live, stop, writeJson }: CommandContext): Promise<number> => {
  const context = { given, live, stop };
  const proofs = new Map<string, Proof>();
  if (given.urls.length > 0) proofs.set(given.urls.join(','), await proveTarget(context));
  else for (const name of given.servers) if (!stop.aborted) proofs.set(name, await proveOwn(context, name));
  live.clear();
  console.log(describeProofs(proofs));
  writeJson(Object.fromEntries(proofs));
  return [...proofs.values()].some(({ lies }) => lies.length > 0) ? 1 : 0;
};

export const runProve = defineCommand({ usage, options, parse, run });
