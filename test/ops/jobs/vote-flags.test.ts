/**
 * Flags of votes: what is found of an address and of a listing, with which figures, and what is not.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createRandom } from '../../../bench/shared/random.ts';
import type { EntityRef } from '../../../engine/ids.ts';
import type { OutboxVote } from '../../../engine/ports.ts';
import { createOriginEncoder, parseOrigin, voteFlags } from '../../../engine/rules/vote-origin.ts';
import { createVoteFlags } from '../../../ops/jobs/vote-flags.ts';
import { judgeAddresses } from '../../../storage/ledger/vote-flags.ts';
import { dirty, openRealWorld, vote } from '../../storage/ledger/world.ts';

const test = suite('flags of votes');
const world = await openRealWorld();
const { sql, ledger } = world;
test.after(() => world.close());

const [minuteMs, hourMs] = [60_000, 3_600_000];
const dayMs = 24 * hourMs;
const encode = createOriginEncoder(new Uint8Array(32));
const never = new AbortController().signal;

interface Sent {
  readonly ref: EntityRef;
  readonly address: string;
  readonly atMs: number;
  readonly user?: string;
  readonly ageSeconds?: number;
}
let sent = 0;
/** A day of its own for each test: an address is judged by its last 24 hours. */
let nowMs = Date.UTC(2026, 2, 3);
test.before.each(() => {
  nowMs += 2 * dayMs;
});
const toVote = ({ ref, address, atMs, user, ageSeconds }: Sent): OutboxVote => {
  sent += 1;
  const firstSeenMs = ageSeconds === undefined ? null : atMs - ageSeconds * 1_000;
  const origin = encode({ address, agent: 'a', firstSeenMs }, atMs);
  return vote(ref, 80_000 + sent, { atMs, origin, user: user ?? `voter${sent}` });
};
/** Flushes the votes as nodes do, and lets this node look at them. */
const flush = async (all: readonly Sent[], flags = createVoteFlags(sql, { nowMs: () => nowMs })) => {
  const votes = all.map(toVote);
  for (let first = 0; first < votes.length; first += 1_000) {
    const some = votes.slice(first, first + 1_000);
    await ledger.flush({ entities: [], votes: some });
    flags.note(some);
  }
  await flags.job.run(never);
  return flags;
};
const flagsOf = async (ref: EntityRef): Promise<Record<string, number>> => {
  const rows = await sql<{ flags: number; votes: number }[]>`
    select flags, count(*)::int as votes from vote_origins where incarnation = ${ref.incarnation}
    group by flags order by flags`;
  return Object.fromEntries(rows.map(({ flags, votes }) => [flags, votes]));
};
const suspectsOf = (ref: EntityRef | null) => sql<
  { kind: number; address: string; figures: Record<string, number> }[]
>`
  select kind, address_hash::text as address, figures from vote_suspects
  where incarnation = ${ref?.incarnation ?? 0} and last_at > ${new Date(nowMs - dayMs)} order by kind`;
const { next: random } = createRandom(7);
/** Votes on the listings from addresses of their own, at any time of the day. */
const others = (refs: readonly EntityRef[], votes: number): Sent[] =>
  Array.from({ length: votes }, (_, index) => ({
    ref: refs[index % refs.length] as EntityRef,
    address: `10.${index >> 16}.${(index >> 8) & 255}.${index & 255}`,
    atMs: nowMs - Math.floor(random() * 23 * hourMs),
    ageSeconds: index % 10 === 0 ? 60 : 1_000_000,
  }));
const from = (address: string, ref: EntityRef, times: readonly number[], more: Partial<Sent> = {}): Sent[] =>
  times.map((ago) => ({ ref, address, atMs: nowMs - Math.round(ago), ageSeconds: 1_000_000, ...more }));
/** Times at no rhythm. */
const anyTimes = (count: number): number[] => Array.from({ length: count }, () => random() * 20 * hourMs);
const list = (name: string) => world.list(`flags-${name}`);

test('many accounts of one address on one listing are flagged, the others of the day are not', async () => {
  const [farmed, ...rest] = await Promise.all(['farmed', 'a', 'b', 'c', 'd', 'e'].map(list));
  await flush([
    ...others([farmed as EntityRef, ...rest], 600),
    ...from('203.0.113.1', farmed as EntityRef, anyTimes(30)),
  ]);

  assert.equal(await flagsOf(farmed as EntityRef), { 0: 100, 3: 30 });
  const [found] = await suspectsOf(farmed as EntityRef);
  const { addressHash } = parseOrigin(encode({ address: '203.0.113.1', agent: 'a' }, nowMs));
  assert.equal([found?.kind, found?.address], [voteFlags.listing, addressHash]);
  assert.equal([found?.figures.votes, found?.figures.accounts, found?.figures.all_accounts], [30, 30, 30]);
  assert.ok((found?.figures.expected ?? 0) > 3 && (found?.figures.expected ?? 9) < 6);
  const [wide] = (await suspectsOf(null)).filter(({ kind }) => kind === voteFlags.directory);
  assert.equal([wide?.figures.accounts, wide?.figures.flagged, wide?.figures.listings], [30, 30, 1]);
});

test('a shared address that votes as all do is not flagged, however many accounts it has', async () => {
  const refs = await Promise.all(['shared-a', 'shared-b', 'shared-c', 'shared-d'].map(list));
  const shared = refs.flatMap((ref) => from('203.0.113.2', ref, anyTimes(50)));
  await flush([...others(refs, 900), ...shared]);

  const { addressHash } = parseOrigin(encode({ address: '203.0.113.2', agent: 'a' }, nowMs));
  assert.equal(await judgeAddresses(sql, [addressHash], nowMs), []);
  for (const ref of refs) assert.equal(await flagsOf(ref), { 0: 275 });
});

test('votes of one millisecond are compared as others are', async () => {
  const refs = await Promise.all(['at-once-a', 'at-once-b', 'at-once-c'].map(list));
  const atOnce = (votes: readonly Sent[]): Sent[] => votes.map((each) => ({ ...each, atMs: nowMs - 1 }));
  const shared = refs.flatMap((ref) => from('203.0.113.21', ref, anyTimes(8)));
  const all = [...others(refs, 120), ...shared];
  await flush(atOnce([...all.filter((_, index) => index % 2 === 0), ...all.reverse()]));

  const { addressHash } = parseOrigin(encode({ address: '203.0.113.21', agent: 'a' }, nowMs));
  assert.equal(await judgeAddresses(sql, [addressHash], nowMs), []);
});

test('an account farm on ten listings alike is flagged on each', async () => {
  const refs = await Promise.all(Array.from({ length: 10 }, (_, index) => list(`spread-${index}`)));
  const other = await list('spread-other');
  const farm = refs.flatMap((ref) => from('203.0.113.22', ref, anyTimes(6)));
  await flush([...others([other], 600), ...farm]);

  for (const ref of refs) assert.equal(await flagsOf(ref), { 3: 6 });
});

test('where most votes come from one address, it is compared with nothing', async () => {
  const [ref, other] = (await Promise.all(['proxied', 'proxied-too'].map(list))) as [EntityRef, EntityRef];
  const proxied = [...from('203.0.113.20', ref, anyTimes(90)), ...from('203.0.113.20', other, anyTimes(20))];
  await flush([...others([other], 100), ...proxied]);

  assert.equal([await flagsOf(ref), await flagsOf(other)], [{ 0: 90 }, { 0: 120 }]);
});

test('four accounts of a family are not flagged, five are', async () => {
  const [four, five, other] = (await Promise.all(['four', 'five', 'other'].map(list))) as [
    EntityRef,
    EntityRef,
    EntityRef,
  ];
  const family = [...from('203.0.113.3', four, anyTimes(4)), ...from('203.0.113.4', five, anyTimes(5))];
  await flush([...others([other], 500), ...family]);

  assert.equal([await flagsOf(four), await flagsOf(five)], [{ 0: 4 }, { 1: 5 }]);
});

test('new accounts of one address are flagged where few are new, not where most are', async () => {
  const [one, two, other] = (await Promise.all(['young', 'young-too', 'old'].map(list))) as [
    EntityRef,
    EntityRef,
    EntityRef,
  ];
  const isYoung = { ageSeconds: 600 };
  await flush([...others([one, two, other], 900), ...from('203.0.113.5', one, anyTimes(20), isYoung)]);
  assert.equal(await flagsOf(one), { 0: 300, 5: 20 });

  nowMs += 2 * dayMs;
  const newcomers = others([one, two, other], 900).map((each) => ({ ...each, ...isYoung }));
  await flush([...newcomers, ...from('203.0.113.5', two, anyTimes(20), isYoung)]);
  assert.equal(await flagsOf(two), { 0: 600, 1: 20 });
});

test('votes at equal intervals are flagged as the work of a machine', async () => {
  const [steady, other] = (await Promise.all(['steady', 'unsteady'].map(list))) as [EntityRef, EntityRef];
  const times = Array.from({ length: 12 }, (_, index) => hourMs + index * minuteMs + random() * 5_000);
  await flush([...others([steady, other], 400), ...from('203.0.113.6', steady, times, { user: 'one' })]);

  // One account alone is no cluster; several are.
  assert.equal(await flagsOf(steady), { 0: 212 });
  const [found] = await suspectsOf(steady);
  assert.is(found, undefined);
  nowMs += 2 * dayMs;
  await flush([...others([steady, other], 400), ...from('203.0.113.6', steady, times)]);
  const rhythm = (await suspectsOf(steady)).find(({ kind }) => kind === voteFlags.rhythm);
  assert.ok(rhythm !== undefined && (rhythm.figures.deviation ?? 99) < 10);
  assert.is(Math.round((rhythm?.figures.seconds ?? 0) / 10), 6);
});

test('an address with something to find is judged again with each of its votes', async () => {
  const [ref, other] = (await Promise.all(['again', 'again-other'].map(list))) as [EntityRef, EntityRef];
  const flags = await flush([...others([other], 300), ...from('203.0.113.7', ref, anyTimes(5))]);
  assert.equal(await flagsOf(ref), { 1: 5 });

  await flush(from('203.0.113.7', ref, [1]), flags);
  assert.equal(await flagsOf(ref), { 1: 6 });
  await flush(from('203.0.113.8', ref, [1]), flags);
  assert.equal(await flagsOf(ref), { 0: 1, 1: 6 });
});

test('a listing with far more votes than in its past has a surge, another has none', async () => {
  const [sudden, steady] = (await Promise.all(['sudden', 'always'].map(list))) as [EntityRef, EntityRef];
  for (const ref of [sudden, steady]) await ledger.flush({ entities: [dirty(ref, 1, {})], votes: [] });
  const past = Array.from({ length: 14 * 24 }, (_, hour) => hour + 1);
  const timesOf = (perHour: number, hours: readonly number[]) =>
    hours.flatMap((hour) => Array.from({ length: perHour }, () => (hour + random()) * hourMs));
  const old = past.flatMap((hour) => from(`10.1.${hour >> 8}.${hour & 255}`, steady, timesOf(10, [hour])));
  await flush([...old, ...from('10.2.0.1', sudden, timesOf(1, [30, 200]))].sort((a, b) => a.atMs - b.atMs));
  await flush([...from('10.3.0.1', sudden, timesOf(21, [0])), ...from('10.4.0.1', steady, timesOf(50, [0]))]);

  const [surge] = (await suspectsOf(sudden)).filter(({ kind }) => kind === voteFlags.surge);
  assert.equal([surge?.figures.votes, surge?.figures.mean], [21, 0.01]);
  assert.equal(
    (await suspectsOf(steady)).filter(({ kind }) => kind === voteFlags.surge),
    [],
  );
});

test('suspicious are accounts and addresses with a flag, and listings with a surge', async () => {
  const [ref, other] = (await Promise.all(['suspect', 'suspect-other'].map(list))) as [EntityRef, EntityRef];
  const flags = createVoteFlags(sql, { nowMs: () => nowMs }, true);
  const [sent, more] = [
    from('203.0.113.10', ref, anyTimes(8)),
    from(
      '203.0.113.11',
      ref,
      anyTimes(30).map((ms) => ms / 30),
    ),
  ];
  const named = [...sent, ...more].map((each, index) => ({ ...each, user: `suspect${index}` }));
  const request = (user: string, address: string, id: string) =>
    ({ kind: 'pack', id, user, upvote: true, origin: encode({ address, agent: 'a' }, nowMs) }) as const;
  const isSuspect = (user: string, address: string, id: string) =>
    flags.isSuspect(request(user, address, id));
  await flush([...others([other], 500), ...named.slice(0, 8)], flags);

  assert.not.ok(isSuspect('honest', '203.0.113.99', ref.id));
  assert.ok(isSuspect('honest', '203.0.113.10', other.id));
  assert.ok(isSuspect('suspect0', '203.0.113.99', other.id));
  nowMs += 60_000;
  await flush(named.slice(8), flags);
  assert.ok(isSuspect('honest', '203.0.113.99', ref.id), 'a surge');
  assert.not.ok(isSuspect('honest', '203.0.113.99', other.id));
  nowMs += 2 * dayMs;
  await flags.job.run(never);
  assert.not.ok(isSuspect('suspect0', '203.0.113.10', ref.id));
});

test('judging again changes nothing, and without votes nothing is asked of SQL', async () => {
  const ref = await list('repeat');
  await flush([...others([await list('repeat-other')], 100), ...from('203.0.113.9', ref, anyTimes(6))]);
  const before = [await flagsOf(ref), [...(await suspectsOf(ref))]];
  const { addressHash } = parseOrigin(encode({ address: '203.0.113.9', agent: 'a' }, nowMs));
  const [again] = await judgeAddresses(sql, [addressHash], nowMs);
  assert.equal([again?.address, again?.flags], [addressHash, voteFlags.listing]);
  assert.equal([await flagsOf(ref), [...(await suspectsOf(ref))]], before);

  const silent = new Proxy(sql, { apply: () => assert.unreachable('SQL was asked') });
  await createVoteFlags(silent, { nowMs: () => nowMs }).job.run(never);
});

test.run();
