/**
 * Load as real clients make it: many users and bots over several connections, every step written to the log.
 *
 * Each connection sends one request after the other, chosen by a seeded random generator. It never repeats a
 * request, so that each line of the log is one request on the wire. It pauses after a 503: a node keeps a
 * bounded number of clicks while its store refuses. A connection stops when its node is gone.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { type ClientLog, nowMs, type Sight } from '../../../bench/prove/client-log.ts';
import { beginOperation, endOperation } from '../../../bench/prove/operations.ts';
import { buildStatsBody, findPostShown, readDigits } from '../../../bench/prove/post-body.ts';
import { type Answer, type Client, type ClientRequest, NoAnswer } from '../../../bench/shared/http-client.ts';
import type { Random } from '../../../bench/shared/random.ts';
import { type Directory, type Target, tokenOf } from '../../support/directory.ts';

export interface LoadParts {
  readonly url: string;
  readonly client: Client;
  readonly directory: Directory;
  readonly log: ClientLog;
  readonly random: Random;
  readonly connections: number;
}
export interface Load {
  /** Lets every connection finish its request and end. */
  stop(): Promise<void>;
  /** Resolves when all connections have ended, by themselves or by `stop`. */
  readonly ended: Promise<void>;
}

const visitorAddresses = 64;
const refusedPauseMs = 20;
/**
 * Answers that a correct client gets from a correct node: done, refused with a wait, or not possible
 * now.
 */
const expected = new Set([200, 204, 429, 503]);

const ask = async (
  { client, log, url }: LoadParts,
  path: string,
  request?: ClientRequest,
): Promise<Answer | NoAnswer> => {
  try {
    const answer = await client.ask(url + path, request);
    if (!expected.has(answer.status)) log.strange.push(`${answer.status} to ${path}: ${answer.text}`);
    return answer;
  } catch (error) {
    if (!(error instanceof NoAnswer)) throw error;
    log.unanswered += 1;
    return error;
  }
};

type Step = (parts: LoadParts) => Promise<Answer | NoAnswer>;

export const postStats: Step = async (parts) => {
  const { log, random, directory } = parts;
  const op = { ...beginOperation(log), op: 'stats' as const, bot: random.pick(directory.bots) };
  log.stats.push(op);
  const headers = { 'Bot-Auth': tokenOf('bot', op.bot), 'Content-Type': 'application/json' };
  const answer = await ask(parts, '/bots/stats', { method: 'POST', headers, body: buildStatsBody(op.id) });
  endOperation(op, answer, [200]);
  return answer;
};

const sightOf = (text: string, seen: Omit<Sight, 'post' | 'clicks' | 'uniqueClicks'>): Sight => ({
  ...seen,
  post: findPostShown(text),
  clicks: Number(readDigits(text, 'clicks')),
  uniqueClicks: Number(readDigits(text, 'unique_clicks')),
});

export const click: Step = async (parts) => {
  const { log, random, directory } = parts;
  const address = `10.1.2.${random.below(visitorAddresses)}`;
  const op = { ...beginOperation(log), op: 'click' as const, bot: random.pick(directory.bots), address };
  log.clicks.push(op);
  const answer = await ask(parts, `/bots/${op.bot}?target=page`, { headers: { 'X-Forwarded-For': address } });
  endOperation(op, answer, [200]);
  if (!(answer instanceof NoAnswer) && answer.status === 200) {
    log.sights.push(sightOf(answer.text, { ...op, quiet: false }));
  }
  return answer;
};

const vote: Step = async (parts) => {
  const { log, random, directory } = parts;
  const { kind, id } = random.pick(directory.targets);
  const user = random.pick(directory.users);
  const upvote = random.below(8) > 0;
  const op = {
    ...beginOperation(log),
    op: 'vote' as const,
    target: `${kind}/${id}`,
    user,
    upvote,
    refused: false,
  };
  log.votes.push(op);
  const path = `/users/${user}/${kind}s/${id}/votes?upvote=${upvote}`;
  const answer = await ask(parts, path, { method: 'PUT', headers: { 'User-Auth': tokenOf('user', user) } });
  endOperation(op, answer, [204]);
  op.refused = op.status === 429;
  return answer;
};

/** Looks at one bot without counting. */
export const look = async (
  parts: Omit<LoadParts, 'random' | 'connections'>,
  bot: string,
): Promise<Answer | NoAnswer> => {
  const { log } = parts;
  const { life, callMs } = beginOperation(log);
  const answer = await ask(parts as LoadParts, `/bots/${bot}`);
  if (!(answer instanceof NoAnswer) && answer.status === 200) {
    log.sights.push(sightOf(answer.text, { bot, life, callMs, returnMs: nowMs(), quiet: true }));
  }
  return answer;
};

/** Nothing in the log: invitations are judged at rest, where both stores must have the same. */
const invite: Step = (parts) => ask(parts, `/bots/${parts.random.pick(parts.directory.bots)}?target=invite`);

const steps: readonly Step[] = [
  postStats,
  postStats,
  postStats,
  click,
  click,
  click,
  vote,
  vote,
  vote,
  invite,
];

/** Starts all connections. */
export const startLoad = (parts: LoadParts): Load => {
  let stopped = false;
  const connection = async (): Promise<void> => {
    while (!stopped) {
      const answer = await parts.random.pick(steps)(parts);
      if (answer instanceof NoAnswer) return;
      if (answer.status === 503) await sleep(refusedPauseMs);
    }
  };
  const ended = Promise.all(Array.from({ length: parts.connections }, connection)).then(() => {});
  return {
    ended,
    stop: () => {
      stopped = true;
      return ended;
    },
  };
};

export const keyOf = ({ kind, id }: Target): string => `${kind}/${id}`;
