/**
 * The load of `prove`: posts, shards, clicks, votes and redeems with values of their own, each in
 * the log with its time and its answer. Each connection sends one request after the other, at a fixed rate.
 *
 * An address whose connection failed begins a new life: what its node had not written yet may be gone. The
 * log has a bound; when it is full, the load ends.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Holder } from '../scenarios/directory.ts';
import { type Answer, type ClientRequest, NoAnswer } from '../shared/http-client.ts';
import type { Random } from '../shared/random.ts';
import { nowMs, type VoteOp } from './client-log.ts';
import { beginOperation, endOperation } from './operations.ts';
import { buildStatsBody } from './post-body.ts';
import type { ProveLog, RedeemOp } from './prove-log.ts';
import { buildShardsBody, parts, toTurn } from './shards.ts';
import { addSights } from './sights.ts';
import { type Listing, type Subject, toVisitor } from './subject.ts';

interface DriveOptions {
  readonly subject: Subject;
  readonly log: ProveLog;
  readonly random: Random;
  /** Requests a second in all; the most of them where there is a pace. */
  readonly rate: number;
  /** The share of the rate now, and whether most page views are of the first listing; always 1 if absent. */
  readonly pace?: () => Pace;
}
export interface Pace {
  readonly share: number;
  readonly isHugged: boolean;
}
interface DriveState extends DriveOptions {
  /** The life of each address. */
  readonly lives: number[];
  nextLife: number;
  nextPair: number;
  nextTurn: number;
  readonly recent: Pick<VoteOp, 'target' | 'user'>[];
  readonly tokens: ReadonlyMap<string, string>;
}

const entriesMax = 2_000_000;
/** A redeem takes a second, until the flush: so many connections are for 2,000 requests a second. */
const connectionsMax = 256;
const backoffMs = 50;
const recentMax = 40;
const visitorsMax = 3_000;
const redeemTriesMax = 30;
const strangeMax = 50;
const steadyPace = (): Pace => ({ share: 1, isHugged: false });
/** So much of the page views are of a bot that everybody looks at. */
const hugShare = 0.9;
const expected = new Set([200, 204, 409, 429, 503]);
/** Times without room that are so near are one. */
const sameSpanMs = 1_000;

/** Statuses of a proxy whose server was gone. */
const goneStatuses = [502, 504];

const ask = async (
  state: DriveState,
  place: number,
  { path, ...request }: ClientRequest & { readonly path: string },
): Promise<Answer | NoAnswer> => {
  const { subject, log } = state;
  const callMs = nowMs();
  const answer = await subject.client.ask(`${subject.urls[place]}${path}`, request).catch((error) => {
    if (!(error instanceof NoAnswer)) throw error;
    return error;
  });
  if (answer instanceof NoAnswer || goneStatuses.includes(answer.status)) {
    state.lives[place] = ++state.nextLife;
    log.unanswered += 1;
    return answer instanceof NoAnswer ? answer : new NoAnswer(new Error(`status ${answer.status}`));
  }
  log.answered += 1;
  if (answer.status === 503) addSpan(log, callMs);
  if (!expected.has(answer.status) && log.strange.length < strangeMax)
    log.strange.push(`${answer.status} to ${path}: ${answer.text.slice(0, 300)}`);
  return answer;
};

/** The store may have refused whole batches while a request was 503. */
const addSpan = ({ withoutRoom }: ProveLog, fromMs: number): void => {
  const last = withoutRoom.at(-1);
  const toMs = nowMs();
  if (last === undefined || fromMs > last.toMs + sameSpanMs) withoutRoom.push({ fromMs, toMs });
  else withoutRoom.splice(-1, 1, { fromMs: Math.min(last.fromMs, fromMs), toMs });
};

type Step = (state: DriveState) => Promise<Answer | NoAnswer>;

/** Draws an address; the operation that begins now belongs to its present life. */
const draw = (state: DriveState): number => {
  const { subject, random, lives, log } = state;
  const place = random.below(subject.urls.length);
  log.life = lives[place] ??= ++state.nextLife;
  return place;
};

const pickListing = ({ subject, random }: DriveState, posts?: Listing['posts']): Listing =>
  random.pick(subject.listings.filter((listing) => posts === undefined || listing.posts === posts));

/** The listing of a page view. */
const pickShown = (state: DriveState): Listing =>
  state.pace?.().isHugged && state.random.next() < hugShare
    ? (state.subject.listings[0] as Listing)
    : pickListing(state);

const jsonOf = (token: string) => ({ 'Bot-Auth': token, 'Content-Type': 'application/json' });

/** A post of this bot, or pseudo bot of a shard. */
const beginPost = (state: DriveState, bot: string) => {
  const place = draw(state);
  const op = { ...beginOperation(state.log), op: 'stats' as const, bot };
  state.log.stats.push(op);
  const send = async (path: string, token: string, body: string): Promise<Answer | NoAnswer> => {
    const answer = await ask(state, place, { path, method: 'POST', headers: jsonOf(token), body });
    endOperation(op, answer, [200]);
    return answer;
  };
  return { id: op.id, send };
};

const post: Step = async (state) => {
  const { id: bot, token } = pickListing(state, 'totals');
  const { id, send } = beginPost(state, bot);
  return send('/bots/stats', token, buildStatsBody(id, !state.subject.has.has('log')));
};

const postShard: Step = async (state) => {
  const { id, token } = pickListing(state, 'shards');
  const shard = state.random.below(parts);
  const bot = `${id}#${shard}`;
  const begun = beginPost(state, bot);
  const turn = toTurn(++state.nextTurn);
  const turns = state.log.turns.get(bot) ?? new Map<number, number>();
  state.log.turns.set(bot, turns.set(turn, begun.id));
  return begun.send('/bots/stats/shards', token, buildShardsBody({ [shard]: turn }));
};

const click: Step = async (state) => {
  const listing = pickShown(state);
  const { log, subject, random } = state;
  const place = draw(state);
  const address = toVisitor(subject.firstId, 3 + random.below(visitorsMax));
  const op = { ...beginOperation(log), op: 'click' as const, bot: listing.id, address };
  log.clicks.push(op);
  const headers = { 'X-Forwarded-For': address };
  const answer = await ask(state, place, { path: `/bots/${listing.id}?target=page`, headers });
  endOperation(op, answer, [200]);
  const { life, callMs, returnMs } = op;
  addSights(log, { life, place, callMs, returnMs, listing, quiet: false }, answer);
  return answer;
};

const look: Step = async (state) => {
  const listing = pickShown(state);
  const place = draw(state);
  const { life } = state.log;
  const callMs = nowMs();
  const answer = await ask(state, place, { path: `/bots/${listing.id}` });
  addSights(state.log, { callMs, returnMs: nowMs(), life, place, listing, quiet: false }, answer);
  return answer;
};

const vote = async (state: DriveState, { target, user }: Pick<VoteOp, 'target' | 'user'>) => {
  const { log, random, tokens } = state;
  const upvote = random.below(8) > 0;
  const place = draw(state);
  const op = { ...beginOperation(log), op: 'vote' as const, target, user, upvote, refused: false };
  log.votes.push(op);
  const path = `/users/${user}/${target.replace('/', 's/')}/votes?upvote=${upvote}`;
  const headers = { 'User-Auth': tokens.get(user) ?? '' };
  const answer = await ask(state, place, { path, method: 'PUT', headers });
  endOperation(op, answer, [204]);
  op.refused = op.status === 429 && !(answer as Answer).text.includes('"rate_limited"');
  return answer;
};

/** The next user and bot, of whom each pair comes once before any comes again; not all have voted before. */
const nextPair = (state: DriveState): Pick<VoteOp, 'target' | 'user'> => {
  const { listings, directory, voted } = state.subject;
  const { users } = directory;
  for (;;) {
    const number = state.nextPair++;
    const index = number % users.length;
    const bot = listings[(index + Math.floor(number / users.length)) % listings.length] as Listing;
    const pair = { target: `bot/${bot.id}`, user: (users[index] as Holder).id };
    if (voted.has(`${pair.user} on ${pair.target}`)) continue;
    state.recent.push(pair);
    if (state.recent.length > recentMax) state.recent.shift();
    return pair;
  }
};

/** New votes; some are repeated within the wait, some are sent twice at once. */
const castVotes: Step = async (state) => {
  const { random, recent } = state;
  const chance = random.next();
  if (chance < 0.15 && recent.length > 0) return vote(state, random.pick(recent));
  const pair = nextPair(state);
  const answers = await Promise.all(Array.from({ length: chance > 0.9 ? 2 : 1 }, () => vote(state, pair)));
  return answers[0] as Answer | NoAnswer;
};

const redeem: Step = async (state) => {
  const { log, random } = state;
  const { id, token } = pickListing(state);
  const op: RedeemOp = { bot: id, callMs: nowMs(), returnMs: Number.POSITIVE_INFINITY, outcome: 'unknown' };
  log.redeems.push(op);
  const headers = { 'Bot-Auth': token, 'Idempotency-Key': random.uuid() };
  const path = `/bots/${id}/votes/credits?votes=1`;
  for (let tries = 1; ; tries++) {
    const answer = await ask(state, draw(state), { path, method: 'POST', headers });
    op.returnMs = nowMs();
    if (answer instanceof NoAnswer || [429, 503].includes(answer.status)) {
      if (tries === redeemTriesMax) return answer;
      await sleep(backoffMs * tries);
      continue;
    }
    if (answer.status !== 409 || !answer.text.includes('idempotency')) {
      op.outcome = answer.status === 200 ? 'ok' : 'fail';
      return answer;
    }
    await sleep(backoffMs);
  }
};

const listSteps = ({ has, listings, directory }: Subject): readonly Step[] => [
  post,
  post,
  post,
  ...(listings.some(({ posts }) => posts === 'shards') ? [postShard, postShard] : []),
  click,
  click,
  look,
  ...(directory.users.length > 0 ? [castVotes, castVotes] : []),
  ...(has.has('redeems') ? [redeem] : []),
];

const countEntries = ({ stats, clicks, votes, sights, feedSights }: ProveLog): number =>
  stats.length + clicks.length + votes.length + sights.length + feedSights.length;

/** Starts all connections. */
export const startDrive = (options: DriveOptions) => {
  const { subject, log, random, rate, pace = steadyPace } = options;
  const tokens = new Map(subject.directory.users.map(({ id, token }) => [id, token]));
  const lives = subject.urls.map((_, index) => index);
  const places = { lives, nextLife: lives.length, nextPair: 0, nextTurn: 1, recent: [], tokens };
  const state: DriveState = { ...options, ...places };
  const steps = listSteps(subject);
  const connections = Math.min(connectionsMax, Math.max(4, Math.ceil(rate / 8)));
  const pauseMs = (): number => (connections * 1_000) / (rate * pace().share);
  let stopped = false;
  let failed = false;
  const isFull = (): boolean => failed || countEntries(log) >= entriesMax;
  const connection = async (): Promise<void> => {
    await sleep(random.next() * pauseMs());
    while (!stopped && !isFull()) {
      const startedMs = nowMs();
      const answer = await random.pick(steps)(state);
      if (answer instanceof NoAnswer || answer.status === 503) await sleep(backoffMs);
      await sleep(Math.max(0, pauseMs() - (nowMs() - startedMs)));
    }
  };
  const ended = Promise.all(Array.from({ length: connections }, connection));
  // Told by `stop`, which comes soon then.
  ended.catch(() => {
    failed = true;
  });
  return {
    /** The log takes no more. */
    isFull,
    stop: async (): Promise<void> => {
      stopped = true;
      await ended;
    },
  };
};
