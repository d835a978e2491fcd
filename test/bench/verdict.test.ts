/**
 * The verdict of `prove` on several addresses: a total may be older at another node, and falls at none. And
 * on votes around a reset: only those after it count, and its windows are new. And on samples of the history.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createProveLog } from '../../bench/prove/prove-log.ts';
import type { Listing, Subject } from '../../bench/prove/subject.ts';
import { judgeRun } from '../../bench/prove/verdict.ts';

const test = suite('verdict');

const subject = (isDirect: boolean): Subject => ({
  urls: ['http://a', 'http://b'],
  directory: { bots: [], users: [] },
  bots: 1,
  isDirect,
  clocksMs: 5,
  waitMs: { min: 1_000, max: 1_000 },
  firstId: 1,
  client: { ask: () => Promise.reject(new Error('not used')), close: () => {} },
  listings: [],
  has: new Set(),
  voted: new Set(),
});

/** What readers saw: the address, and its clicks. */
const findFalls = (
  seen: readonly (readonly [place: number, clicks: number])[],
  isDirect: boolean,
): number => {
  const log = createProveLog(1);
  for (const callMs of [1, 2, 3]) {
    const timed = { id: callMs, life: 0, callMs, returnMs: callMs + 1, outcome: 'ok' as const, status: 200 };
    log.clicks.push({ ...timed, op: 'click', bot: 'b', address: 'a' });
  }
  for (const [index, [place, clicks]] of seen.entries()) {
    const callMs = 100 + 10 * index;
    const numbers = { post: 0, clicks, uniqueClicks: 0 };
    log.sights.push({ bot: 'b', life: place, place, callMs, returnMs: callMs + 1, quiet: false, ...numbers });
  }
  const { lies } = judgeRun(log, { subject: subject(isDirect), finalStates: [], wrong: [] });
  return lies.filter(({ kind, name }) => kind === 'clicks' && name === 'fell').length;
};

test('a node that is older than another one is no liar', () => {
  assert.is(
    findFalls(
      [
        [0, 3],
        [1, 2],
        [0, 3],
        [1, 3],
      ],
      true,
    ),
    0,
  );
});

test('a total that falls at one of several nodes is named', () => {
  assert.is(
    findFalls(
      [
        [0, 3],
        [1, 3],
        [0, 2],
      ],
      true,
    ),
    1,
  );
});

test('behind a balancer another node may have answered', () => {
  assert.is(
    findFalls(
      [
        [0, 3],
        [0, 2],
      ],
      false,
    ),
    0,
  );
});

const base = { clicks: 0, uniqueClicks: 0, votes: 0, posted: '0 0 0 ', cursor: '', redeems: 0 };
const listing: Listing = { id: 'b', token: '', posts: 'totals', base };
const resetAtMs = 500;

/** One vote each of `before` and `after` users around a reset; the lies when `shown` votes are seen. */
const judgeAroundReset = (users: { readonly before: string[]; readonly after: string[] }, shown: number) => {
  const log = createProveLog(1);
  const cast = (user: string, callMs: number): void => {
    const timed = { id: callMs, life: 0, callMs, returnMs: callMs + 1, outcome: 'ok' as const, status: 204 };
    log.votes.push({ ...timed, op: 'vote', target: 'bot/b', user, upvote: true, refused: false });
  };
  for (const [index, user] of users.before.entries()) cast(user, 100 + 10 * index);
  log.resets.push({ fromMs: resetAtMs, toMs: resetAtMs + 100 });
  for (const [index, user] of users.after.entries()) cast(user, 700 + 10 * index);
  const numbers = { post: 0, clicks: 0, uniqueClicks: 0, votes: shown };
  log.sights.push({ bot: 'b', life: 0, callMs: 900, returnMs: 901, quiet: true, ...numbers });
  const nothing = { entries: [], redeems: 0, history: [], followed: null, delivered: null };
  const { lies } = judgeRun(log, {
    subject: subject(true),
    finalStates: [{ listing, ...nothing }],
    wrong: [],
  });
  return lies.map(({ kind, name }) => `${kind} ${name}`);
};

test('after a reset the votes since then count, and none from before', () => {
  const users = { before: ['u', 'v', 'w'], after: ['x', 'y'] };

  assert.equal(judgeAroundReset(users, 2), []);
  assert.equal(judgeAroundReset(users, 1), ['votes lost']);
  assert.equal(judgeAroundReset(users, 3), ['votes doubled']);
});

test('a user may vote once more after a reset, and only once', () => {
  assert.equal(judgeAroundReset({ before: ['u'], after: ['u'] }, 1), []);
  assert.equal(judgeAroundReset({ before: [], after: ['u', 'u'] }, 2), ['votes accepted twice']);
  assert.equal(judgeAroundReset({ before: ['u', 'u'], after: [] }, 0), ['votes accepted twice']);
});

test('an event covers the votes that it names, whatever their numbers', () => {
  const toEntry = (itag: string, index: number) => {
    const fields = { author: 'u', upvote: true, created_at: new Date(0).toISOString() };
    return { ...fields, number: 2 * index + 1, itag, ref: '', void: false, void_reason: '' };
  };
  const judge = (delivered: readonly string[]) => {
    const entries = ['a', 'b'].map(toEntry);
    const nothing = { redeems: 0, history: [], followed: null };
    const finalStates = [{ listing, ...nothing, entries, delivered: new Set(delivered) }];
    const { lies } = judgeRun(createProveLog(1), { subject: subject(true), finalStates, wrong: [] });
    return lies.flatMap(({ kind, name }) => (kind === 'webhooks' ? [name] : []));
  };

  assert.equal(judge(['a', 'b']), []);
  assert.equal(judge(['b']), ['missing']);
});

test('a sample is late only where the server was away', () => {
  const judge = (unanswered: number, clicks: number) => {
    const log = createProveLog(1);
    log.unanswered = unanswered;
    for (const callMs of [1_000, 30_000, 90_000]) {
      const timed = {
        id: callMs,
        life: 0,
        callMs,
        returnMs: callMs + 1,
        outcome: 'ok' as const,
        status: 200,
      };
      log.clicks.push({ ...timed, op: 'click', bot: 'b', address: 'a' });
    }
    const history = [2_000, 62_000].map((atMs) => ({ atMs, clicks, votesLogged: null }));
    const nothing = { entries: [], redeems: 0, followed: null, delivered: null };
    const finalStates = [{ listing, ...nothing, history: history.slice(0, 2) }];
    return judgeRun(log, { subject: subject(true), finalStates, wrong: [] }).lies.map(({ name }) => name);
  };

  assert.equal(judge(0, 1), []);
  assert.equal(judge(0, 2), ['doubled']);
  assert.equal(judge(1, 2), []);
  assert.equal(judge(1, 3), ['doubled']);
});

test.run();
