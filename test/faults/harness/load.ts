/**
 * Load as real clients make it: many users and bots over several connections, every step written to the log.
 *
 * Each connection sends one request after the other, chosen by a seeded random generator. It never repeats a
 * request, so that each line of the log is one request on the wire. A connection stops when its node is
 * gone.
 */

import type { Random } from '../../../ops/demo/random.ts';
import { type Directory, type Target, tokenOf } from '../../support/directory.ts';
import type { Answer, Client, ClientRequest } from '../../support/http-client.ts';
import { NoAnswer } from '../../support/http-client.ts';
import { type ClientLog, nowMs, type Outcome, type Sight } from './client-log.ts';

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
/** Far beyond 2^53, so that a rounded digit shows. */
const usersBase = 18_446_744_073_600_000_000n;

/** The fields of post `id`: each tells the id, so fields of two posts never fit together. */
export const statsBody = (id: number): string =>
  `{"servers":${id},"shards":${id + 1},"users":${usersBase + BigInt(id)},"shard_list":[${id},${id + 2}],` +
  `"status":"online"}`;

/** Digits as they stand in the text: parsing would round them. */
const field = (text: string, name: string): string =>
  new RegExp(`"${name}":(?:(\\d+)|\\[([\\d,]*)\\])`).exec(text)?.slice(1).join('') ?? '';

/** The post whose fields a bot shows, 0 for none, `null` for a mix. */
export const postShown = (text: string): number | null => {
  const id = Number(field(text, 'servers'));
  const shown = ['shards', 'users', 'shard_list'].map((name) => field(text, name)).join(' ');
  if (id === 0) return shown === '0 0 ' ? 0 : null;
  return shown === `${id + 1} ${usersBase + BigInt(id)} ${id},${id + 2}` ? id : null;
};

/** What an answer (or none) means for a change. */
const outcomeOf = (answer: Answer | NoAnswer, done: readonly number[]): Outcome => {
  if (answer instanceof NoAnswer) return answer.sent ? 'unknown' : 'fail';
  if (done.includes(answer.status)) return 'ok';
  return answer.status === 503 && answer.text.includes('"outcome":"unknown"') ? 'unknown' : 'fail';
};

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

const begin = (log: ClientLog) => ({
  id: log.nextId++,
  life: log.life,
  callMs: nowMs(),
  returnMs: Number.POSITIVE_INFINITY,
  outcome: 'unknown' as Outcome,
  status: 0,
});

const close = (op: ReturnType<typeof begin>, answer: Answer | NoAnswer, done: readonly number[]): void => {
  op.returnMs = nowMs();
  op.outcome = outcomeOf(answer, done);
  op.status = answer instanceof NoAnswer ? 0 : answer.status;
};

type Step = (parts: LoadParts) => Promise<Answer | NoAnswer>;

export const postStats: Step = async (parts) => {
  const { log, random, directory } = parts;
  const op = { ...begin(log), op: 'stats' as const, bot: random.pick(directory.bots) };
  log.stats.push(op);
  const headers = { 'Bot-Auth': tokenOf('bot', op.bot), 'Content-Type': 'application/json' };
  const answer = await ask(parts, '/bots/stats', { method: 'POST', headers, body: statsBody(op.id) });
  close(op, answer, [200]);
  return answer;
};

const sightOf = (text: string, seen: Omit<Sight, 'post' | 'clicks' | 'uniqueClicks'>): Sight => ({
  ...seen,
  post: postShown(text),
  clicks: Number(field(text, 'clicks')),
  uniqueClicks: Number(field(text, 'unique_clicks')),
});

export const click: Step = async (parts) => {
  const { log, random, directory } = parts;
  const address = `10.1.2.${random.below(visitorAddresses)}`;
  const op = { ...begin(log), op: 'click' as const, bot: random.pick(directory.bots), address };
  log.clicks.push(op);
  const answer = await ask(parts, `/bots/${op.bot}?target=page`, { headers: { 'X-Forwarded-For': address } });
  close(op, answer, [200]);
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
  const op = { ...begin(log), op: 'vote' as const, target: `${kind}/${id}`, user, upvote, refused: false };
  log.votes.push(op);
  const path = `/users/${user}/${kind}s/${id}/votes?upvote=${upvote}`;
  const answer = await ask(parts, path, { method: 'PUT', headers: { 'User-Auth': tokenOf('user', user) } });
  close(op, answer, [204]);
  op.refused = op.status === 429;
  return answer;
};

/** Looks at one bot without counting. */
export const look = async (
  parts: Omit<LoadParts, 'random' | 'connections'>,
  bot: string,
): Promise<Answer | NoAnswer> => {
  const { log } = parts;
  const { life, callMs } = begin(log);
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
