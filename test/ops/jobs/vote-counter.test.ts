/**
 * What a node's counts of votes let SQL judge, how often, and what they mark themselves.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createRandom } from '../../../bench/shared/random.ts';
import type { EntityRef } from '../../../engine/ids.ts';
import { createOriginEncoder, parseOrigin, voteFlags } from '../../../engine/rules/vote-origin.ts';
import { createVoteCounter, type DueWork, type VoteCounter } from '../../../ops/jobs/vote-counter.ts';
import { vote } from '../../storage/ledger/world.ts';
import { refOf } from '../../support/refs.ts';

const test = suite('counts of votes');

const hourMs = 3_600_000;
const beginMs = Date.UTC(2026, 2, 3, 1);
const encode = createOriginEncoder(new Uint8Array(32));
const { next: random, below: upTo } = createRandom(11);
let nowMs = beginMs;
let counter: VoteCounter;
test.before.each(() => {
  nowMs = beginMs;
  counter = createVoteCounter(nowMs);
});

const packOf = (listing: number): EntityRef => refOf('pack', `pack${listing}`, listing);
const hashOf = (address: string): string => parseOrigin(encode({ address, agent: 'a' }, nowMs)).addressHash;
let sent = 0;
const note = (address: string, listing: number, { ageSeconds = 1_000_000, atMs = nowMs } = {}): void => {
  sent += 1;
  const origin = encode({ address, agent: 'a', firstSeenMs: nowMs - ageSeconds * 1_000 }, nowMs);
  counter.note([vote(packOf(listing), sent, { atMs, origin })]);
};
const repeat = (times: number, step: (index: number) => void): void => {
  for (let index = 0; index < times; index++) step(index);
};
/** Votes from addresses of their own, on the listings 1 to 10. */
const noteOthers = (times: number, ageSeconds?: number): void =>
  repeat(times, (index) => note(`10.0.${index >> 8}.${index & 255}`, 1 + upTo(10), { ageSeconds }));
const dueAddresses = (): readonly string[] => counter.take(nowMs).addresses;
const rememberFarm = (work: DueWork, flags = voteFlags.listing): void =>
  counter.remember(work, [{ address: hashOf('203.0.113.1'), incarnation: 20, flags }]);

test('shared addresses that vote as all do are never judged', () => {
  for (const ageSeconds of [60, 1_000_000]) noteOthers(1_000, ageSeconds);
  repeat(20_000, (index) => {
    const ageSeconds = random() < 0.5 ? 60 : 1_000_000;
    const atMs = nowMs + 3_000 * index;
    note(`198.51.100.${upTo(10)}`, 1 + upTo(10), { ageSeconds, atMs });
  });
  assert.equal(dueAddresses(), []);
});

test('an address is judged at the fifth vote on a listing that others leave alone, and as it grows', () => {
  noteOthers(500);
  const judgedAt: number[] = [];
  const noteFarm = (count: number): void => {
    note('203.0.113.1', 20);
    const work = counter.take(nowMs);
    if (work.addresses.length === 0) return;
    assert.equal(work.addresses, [hashOf('203.0.113.1')]);
    judgedAt.push(count);
    rememberFarm(work);
  };
  repeat(32, (index) => noteFarm(index + 1));
  assert.equal(judgedAt, [5, 10, 13, 17, 22, 28]);
});

test('what SQL does not find is judged again when it has doubled', () => {
  noteOthers(500);
  const judgedAt: number[] = [];
  repeat(40, (index) => {
    note('203.0.113.1', 20);
    const work = counter.take(nowMs);
    if (work.addresses.length > 0) judgedAt.push(index + 1);
    counter.remember(work, []);
  });
  assert.equal(judgedAt, [5, 10, 20, 40]);
});

test('votes of a pair with flags are marked, of a wide address all', () => {
  noteOthers(500);
  repeat(5, () => note('203.0.113.1', 20));
  note('203.0.113.1', 21);
  const work = counter.take(nowMs);
  assert.equal(work.marks, []);
  rememberFarm(work);
  note('203.0.113.1', 20);
  note('203.0.113.1', 21);
  const marked = counter.take(nowMs).marks;
  assert.equal(
    marked.map(({ address, flags }) => [address, flags]),
    [[hashOf('203.0.113.1'), voteFlags.listing]],
  );

  const wide = { address: hashOf('203.0.113.1'), incarnation: 0, flags: voteFlags.directory };
  counter.remember(work, [{ ...wide, incarnation: 20, flags: voteFlags.young }, wide]);
  note('203.0.113.1', 20);
  note('203.0.113.1', 21);
  note('203.0.113.2', 20);
  const all = counter.take(nowMs).marks.map(({ flags }) => flags);
  assert.equal(all, [voteFlags.young + voteFlags.directory, voteFlags.directory]);
  counter.remember(work, []);
  note('203.0.113.1', 20);
  assert.equal(counter.take(nowMs).marks, []);
});

test('votes that are flushed while SQL judges are marked as what it found', () => {
  noteOthers(500);
  repeat(5, () => note('203.0.113.1', 20));
  const work = counter.take(nowMs);
  for (const [address, listing] of [
    ['203.0.113.1', 20],
    ['203.0.113.1', 21],
    ['203.0.113.2', 20],
  ] as const) {
    note(address, listing);
  }
  const wide = { address: hashOf('203.0.113.1'), incarnation: 0, flags: voteFlags.directory };
  counter.remember(work, [{ ...wide, incarnation: 20, flags: voteFlags.young }, wide]);
  const { marks } = counter.take(nowMs);
  assert.equal(
    marks.map(({ flags }) => flags),
    [voteFlags.young + voteFlags.directory, voteFlags.directory],
  );
});

test('a pair with flags is judged again as it grows, though it looks right by then', () => {
  noteOthers(500);
  repeat(5, () => note('203.0.113.1', 20));
  rememberFarm(counter.take(nowMs));
  repeat(100, (index) => note(`10.1.0.${index}`, 20));
  repeat(4, () => note('203.0.113.1', 20));
  assert.equal(dueAddresses(), []);
  note('203.0.113.1', 20);
  assert.equal(dueAddresses(), [hashOf('203.0.113.1')]);
});

test('new accounts and equal intervals stand out on a listing that is popular', () => {
  noteOthers(3_000);
  repeat(100, (index) => note('203.0.113.3', 1 + (index % 10)));
  repeat(4, () => note('203.0.113.3', 1, { ageSeconds: 60 }));
  assert.equal(dueAddresses(), []);
  repeat(12, () => note('203.0.113.3', 2, { ageSeconds: 60 }));
  assert.equal(dueAddresses(), [hashOf('203.0.113.3')]);
  repeat(200, (index) => note('203.0.113.5', 2 + upTo(9), { atMs: nowMs + index * 60_000 }));
  repeat(20, (index) => note('203.0.113.5', 1, { atMs: nowMs + index * 60_000 + upTo(5_000) }));
  assert.equal(dueAddresses(), [hashOf('203.0.113.5')]);
});

test('after twelve hours counts are half, and a pair without votes is forgotten', () => {
  noteOthers(500);
  repeat(8, () => note('203.0.113.1', 20));
  rememberFarm(counter.take(nowMs));
  nowMs += 12 * hourMs;
  assert.equal(counter.take(nowMs).votes, 0);
  note('203.0.113.1', 20);
  assert.is(counter.take(nowMs).marks.length, 1);
  for (const hours of [12, 12, 12]) {
    nowMs += hours * hourMs;
    counter.take(nowMs);
  }
  repeat(4, () => note('203.0.113.1', 20));
  const { addresses, marks } = counter.take(nowMs);
  assert.equal([addresses, marks], [[], []]);
});

test('what is put back is due again', () => {
  noteOthers(50);
  repeat(5, () => note('203.0.113.1', 20, { ageSeconds: 60 }));
  repeat(21, () => note('203.0.113.9', 30));
  const work = counter.take(nowMs);
  assert.equal([work.votes, work.young, work.listings], [76, 5, [30]]);
  counter.putBack(work);
  assert.equal(counter.take(nowMs), work);
  assert.equal(counter.take(nowMs), { addresses: [], listings: [], marks: [], votes: 0, young: 0 });
});

test.run();
