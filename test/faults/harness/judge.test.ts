/**
 * The judge of the fault tests finds planted losses, doubles, mixes and falling totals.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  type ClientLog,
  createLog,
  type Outcome,
  type StatsOp,
  type VoteOp,
} from '../../../bench/prove/client-log.ts';
import {
  createVerdict,
  judgeClicks,
  judgeStats,
  judgeVotes,
  type Verdict,
  type VoteRows,
} from '../../../bench/prove/judge.ts';
import { buildStatsBody, findPostShown, readDigits } from '../../../bench/prove/post-body.ts';
import { withoutMerged, withoutUncertainRefusals } from './merged-votes.ts';
import { asRowsMayKnow, withoutMissingRows } from './missing-rows.ts';

const test = suite('judge of faults');

const bot = 'b';
const waitMs = 1_000;

/** A log of one life that ended at 900. */
const logOf = (): ClientLog => ({ ...createLog(), endedMs: [900] });
const post = (id: number, callMs: number, outcome: Outcome = 'ok'): StatsOp => ({
  id,
  op: 'stats',
  life: 0,
  bot,
  callMs,
  returnMs: callMs + 10,
  outcome,
  status: 200,
});
const see = (log: ClientLog, atMs: number, shown: { post?: number | null; clicks?: number }): void => {
  const { post: id = 0, clicks = 0 } = shown;
  const life = atMs > 900 ? 1 : 0;
  log.sights.push({
    bot,
    life,
    callMs: atMs,
    returnMs: atMs + 1,
    post: id,
    clicks,
    uniqueClicks: Math.min(clicks, 1),
    quiet: true,
  });
};
const click = (log: ClientLog, callMs: number): void => {
  const timed = { id: callMs, life: 0, callMs, returnMs: callMs + 10, outcome: 'ok' as const, status: 200 };
  log.clicks.push({ ...timed, op: 'click', bot, address: 'a' });
};
const vote = (callMs: number, outcome: Outcome = 'ok'): VoteOp => ({
  id: callMs,
  op: 'vote',
  life: 0,
  target: 't',
  user: 'u',
  upvote: true,
  callMs,
  returnMs: callMs + 10,
  outcome,
  status: 204,
  refused: false,
});
const row = (atMs: number, numbers: readonly number[] = [0]): VoteRows => ({
  target: 't',
  user: 'u',
  atMs,
  upvote: true,
  numbers,
});

const judged = (log: ClientLog, rows: readonly VoteRows[] = []): Record<keyof Verdict, number> => {
  const verdict = createVerdict();
  judgeStats(log, verdict);
  judgeClicks(log, verdict);
  judgeVotes(log, { rows, waitMs }, verdict);
  const { lost, doubled, mixed, fell } = verdict;
  return { lost: lost.length, doubled: doubled.length, mixed: mixed.length, fell: fell.length };
};
const clean = { lost: 0, doubled: 0, mixed: 0, fell: 0 };

test('fields of two posts are distinguished from those of one, to the last digit', () => {
  assert.is(findPostShown(buildStatsBody(7)), 7);
  assert.is(findPostShown(buildStatsBody(7).replace('"shards":8', '"shards":9')), null);
  assert.is(findPostShown(buildStatsBody(7).replace('000000007', '000000008')), null);
});

test('a post whose id counts from a date fits into what the contract takes', () => {
  const id = Date.UTC(2100) * 10;
  const body = buildStatsBody(id);

  assert.ok(BigInt(readDigits(body, 'users')) < 2n ** 64n);
  assert.is(findPostShown(body), id);
});

test('an acknowledged post that is gone after the restart is lost', () => {
  const log = logOf();
  log.stats.push(post(1, 100), post(2, 200));

  see(log, 950, { post: 1 });

  assert.equal(judged(log), { ...clean, lost: 1 });
});

test('an unknown post may be there or not', () => {
  for (const shown of [1, 2]) {
    const log = logOf();
    log.stats.push(post(1, 100), post(2, 200, 'unknown'));
    see(log, 950, { post: shown });
    assert.equal(judged(log), clean);
  }
});

test('a value that a reader saw and that is gone afterwards is a fall, even if unacknowledged', () => {
  const log = logOf();
  log.stats.push(post(1, 100), post(2, 200, 'unknown'));
  see(log, 300, { post: 2 });

  see(log, 950, { post: 1 });

  assert.equal(judged(log), { ...clean, fell: 1 });
});

test('a post that was never sent, and fields of two, are found', () => {
  const log = logOf();
  log.stats.push(post(1, 100));
  see(log, 950, { post: 3 });
  see(log, 960, { post: null });

  assert.equal(judged(log), { ...clean, doubled: 1, mixed: 1 });
});

test('a click answered before an acknowledged write must be there, a later one need not', () => {
  const log = logOf();
  click(log, 100);
  log.stats.push(post(1, 200));
  click(log, 300);
  see(log, 950, { post: 1, clicks: 1 });
  assert.equal(judged(log), clean);

  log.sights.length = 0;
  see(log, 950, { post: 1, clicks: 0 });

  assert.is(judged(log).lost, 2, 'the click and the visitor');
});

test('a click that the store may have refused may count late, but must not be missing', () => {
  const log = logOf();
  log.endedMs[0] = 3_000;
  log.withoutRoom.push({ fromMs: 300, toMs: 400 });
  click(log, 100);
  click(log, 350);
  log.stats.push(post(1, 500));
  see(log, 950, { post: 1, clicks: 0 });
  assert.equal(judged(log), clean);

  see(log, 2_000, { post: 1, clicks: 1 });
  assert.is(judged(log).lost, 1);

  log.endedMs[0] = 1_000;
  assert.equal(judged(log), clean, 'its node ended while it waited');
  click(log, 450);
  assert.is(judged(log).lost, 2, 'a click after the refusal, and its visitor');
});

test('more clicks than were sent, and fewer than were seen, are found', () => {
  const log = logOf();
  click(log, 100);
  see(log, 950, { clicks: 2 });
  see(log, 960, { clicks: 1 });

  assert.equal(judged(log), { ...clean, doubled: 1, fell: 1 });
});

test('an acknowledged vote without a row is lost, one with two votes is doubled', () => {
  const log = logOf();
  log.votes.push(vote(100));

  assert.equal(judged(log, [row(105)]), clean);
  assert.equal(judged(log), { ...clean, lost: 1 });
  assert.equal(judged(log, [row(105), row(106)]), { ...clean, doubled: 2 });
  assert.equal(judged(log, [row(105, [0, 0])]), { ...clean, doubled: 1 });
});

test('a row for a vote that failed is found, one for an unknown vote is fine', () => {
  const log = logOf();
  log.votes.push(vote(100, 'fail'));
  assert.equal(judged(log, [row(105)]), { ...clean, doubled: 1 });

  log.votes.push(vote(100, 'unknown'));

  assert.equal(judged(log, [row(105)]), clean);
});

test('a refusal without an earlier vote that justifies it is found', () => {
  const log = logOf();
  log.votes.push({ ...vote(100, 'fail'), refused: true });

  assert.equal(judged(log), { ...clean, lost: 1 });
});

test('after a lost tail a refusal may rest on a vote of unknown outcome, and on no other', () => {
  for (const [outcome, lost] of [
    ['unknown', 0],
    ['fail', 1],
  ] as const) {
    const log = logOf();
    log.votes.push(vote(100, outcome), { ...vote(200, 'fail'), refused: true });
    assert.equal(judged(withoutUncertainRefusals(log, waitMs)), { ...clean, lost });
  }
});

test('a resent vote may give way to one of unknown outcome, if that is in SQL and a node says so', () => {
  const log = logOf();
  log.votes.push(vote(100), { ...vote(150, 'unknown'), returnMs: 400 });
  const lost = (merged: number, rows: readonly VoteRows[]): number => {
    const verdict = createVerdict();
    judgeVotes(log, { rows, waitMs }, verdict);
    return withoutMerged({ verdict, differences: [] }, { log, rows, waitMs, merged }).verdict.lost.length;
  };

  assert.is(lost(1, [row(500)]), 0);
  assert.is(lost(0, [row(500)]), 1, 'no node says so');
  assert.is(lost(1, []), 1, 'neither vote is there');
});

test('rows may be missing of votes of the time that an older SQL lost, and of no others', () => {
  const log = logOf();
  log.votes.push(vote(100), vote(300));
  const lost = (fromMs: number): number => {
    const verdict = createVerdict();
    judgeVotes(asRowsMayKnow(log, { fromMs, toMs: 400 }), { rows: [row(105)], waitMs: 50 }, verdict);
    return verdict.lost.length;
  };

  assert.equal([lost(200), lost(500)], [0, 1]);
  const lines = ['t: 3 upvotes hot, 1 rows in SQL', 't: 1 upvotes hot, 3 rows in SQL', 't: clicks is 1'];
  assert.equal(withoutMissingRows(lines, log, { fromMs: 200, toMs: 400 }), lines.slice(1));
  assert.equal(withoutMissingRows(lines, log, { fromMs: 500, toMs: 600 }), lines);
});

test.run();
