/**
 * The contract of the ledger, as claims that run against SQL and against the model.
 *
 * Each claim lists its own entities, so that all claims share one database.
 */
import * as assert from 'uvu/assert';
import { StorageError } from '../../../engine/errors.ts';
import { shardsTotal, toShard } from '../../../engine/ids.ts';
import { fullTotals } from '../../support/field-values.ts';
import { dirty, itagOf, vote, type World } from './world.ts';

type Claims = (title: string, claim: () => Promise<void>) => void;

const clicksOf = async (world: World, id: string): Promise<number | undefined> =>
  (await world.ledger.find([{ kind: 'pack', id }]))[0]?.totals.clicks;

/** How a call on the stores ended: 'resolved', or the reason and the outcome of its error. */
export const reasonOf = async (task: Promise<unknown>): Promise<string> => {
  try {
    await task;
    return 'resolved';
  } catch (error) {
    return error instanceof StorageError
      ? `${error.reason} ${error.outcome}`
      : `not a StorageError: ${error}`;
  }
};

const claimTotals = (claims: Claims, open: () => World): void => {
  claims('find returns listings in the requested order, and null for unlisted entities', async () => {
    const world = open();
    const ref = await world.list('found');
    const found = await world.ledger.find([
      { kind: 'pack', id: 'missing' },
      { kind: 'pack', id: 'found' },
      { kind: 'bot', id: 'found' },
    ]);

    assert.equal(
      found.map((one) => one?.ref ?? null),
      [null, ref, null],
    );
    assert.is(found[1]?.facts.listed, true);
    assert.is(found[1]?.generation, 0);
  });

  claims('an older generation or version never overwrites a newer one', async () => {
    const world = open();
    const ref = await world.list('guarded');
    const flush = (generation: number, version: number, clicks: number) =>
      world.ledger.flush({ entities: [dirty(ref, generation, { version, clicks })], votes: [] });

    await flush(2, 5, 50);
    await flush(2, 4, 40);
    assert.is(await reasonOf(flush(1, 99, 99)), 'outdated not_applied');
    await flush(2, 5, 51);
    assert.is(await clicksOf(world, 'guarded'), 50);
    await flush(2, 6, 60);
    assert.is(await clicksOf(world, 'guarded'), 60);
    await flush(3, 1, 7);
    assert.is(await clicksOf(world, 'guarded'), 7);
  });

  claims('every field is stored and read back, unsigned 64-bit numbers exactly', async () => {
    const world = open();
    const ref = await world.list('digits');
    const numbers = { servers: '18446744073709551557', shardList: '1,2,18446744073709551557' };
    const totals = { ...fullTotals, ...numbers };

    await world.ledger.flush({ entities: [dirty(ref, 1, totals)], votes: [] });

    assert.equal((await world.ledger.find([ref]))[0]?.totals, totals);
  });
};

const claimLifetimes = (claims: Claims, open: () => World): void => {
  claims('a late flush of a deleted listing changes nothing, also when its id is listed again', async () => {
    const world = open();
    const first = await world.list('again');
    await world.remove(first);
    await world.ledger.flush({ entities: [dirty(first, 1, { version: 9, clicks: 9 })], votes: [] });
    assert.is(await clicksOf(world, 'again'), undefined);

    const second = await world.list('again');
    await world.ledger.flush({ entities: [dirty(first, 2, { version: 9, clicks: 9 })], votes: [] });
    assert.is(await clicksOf(world, 'again'), 0);
    assert.ok(second.incarnation > first.incarnation);
    assert.equal(
      (await world.ledger.listAdjustments(10, first)).map(({ item }) => item),
      [{ kind: 'forget', target: first }],
    );
  });

  claims('generations never decrease, and the next is greater than all issued and flushed ones', async () => {
    const world = open();
    const ref = await world.list('generation');
    const [one, two] = [toShard((ref.shard + 1) % shardsTotal), toShard((ref.shard + 2) % shardsTotal)];
    const next = await world.ledger.takeGeneration([one, two], 40);
    assert.ok(next > 40);

    await world.ledger.flush({ entities: [dirty(ref, next + 10, { version: 1 })], votes: [] });
    const known = await world.ledger.readGenerations();
    assert.is(known.length, shardsTotal);
    assert.is(known[one], next);
    assert.is(known[ref.shard], next + 10);
    assert.ok((await world.ledger.takeGeneration([one], 0)) > next + 10);
  });
};

const claimVotes = (claims: Claims, open: () => World): void => {
  claims('rounds may be repeated and may arrive in any order', async () => {
    const world = open();
    const ref = await world.list('rounds');
    const round = (version: number, number: number) => ({
      entities: [dirty(ref, 1, { version, clicks: version, upvotes: version })],
      votes: [vote(ref, number)],
    });
    const rounds = [round(1, 101), round(2, 102), round(3, 103)];
    for (const index of [1, 0, 2, 1, 2, 0, 0]) {
      const one = rounds[index];
      if (one) await world.ledger.flush(one);
    }

    assert.is(await clicksOf(world, 'rounds'), 3);
    const mine = Object.keys(await world.votes()).filter((itag) => /10[123]$/.test(itag));
    assert.equal(mine.sort(), [itagOf(101), itagOf(102), itagOf(103)]);
  });

  claims('one invalid row rejects the whole round as `row`, and can become a dead letter', async () => {
    const world = open();
    const ref = await world.list('poison');
    const sick = vote(ref, 202, { user: 'nul\0' });
    const healthy = [vote(ref, 201), vote(ref, 203)];
    const round = { entities: [dirty(ref, 1, { version: 1, clicks: 1 })], votes: [...healthy, sick] };

    assert.is(await reasonOf(world.ledger.flush(round)), 'row not_applied');
    assert.is(await clicksOf(world, 'poison'), 0);
    assert.is((await world.votes())[itagOf(201)], undefined);
    const huge = { entities: [dirty(ref, 1, { version: 1, clicks: 1e20 })], votes: [] };
    assert.is(await reasonOf(world.ledger.flush(huge)), 'row not_applied');

    await world.ledger.writeDeadLetter({ vote: sick, reason: 'NUL' });
    await world.ledger.flush({ ...round, votes: healthy });
    assert.is((await world.votes())[itagOf(203)], '');
  });
};

const claimVoids = (claims: Claims, open: () => World): void => {
  claims('voiding a vote subtracts it from the totals once and releases its voter', async () => {
    const world = open();
    const ref = await world.list('voided');
    await world.ledger.flush({ entities: [], votes: [vote(ref, 301), vote(ref, 302, { upvote: false })] });

    assert.is(await world.voidVote(itagOf(301), 'operator'), true);
    assert.is(await world.voidVote(itagOf(301), 'operator'), false);
    assert.is(await world.voidVote(itagOf(302), 'redeemed'), true);
    assert.is(await world.voidVote(itagOf(399), 'operator'), false);

    const items = (await world.ledger.listAdjustments(10, ref)).map(({ item }) => item);
    const atMs = Date.UTC(2026, 10, 20, 12);
    const adjust = { kind: 'adjust', target: ref, releaseBeforeMs: 0 };
    assert.equal(items, [
      {
        ...adjust,
        sequence: 1,
        upvotes: -1,
        downvotes: 0,
        release: [{ user: 'user301', atMs }],
        pinned: [],
      },
      { ...adjust, sequence: 2, upvotes: 0, downvotes: -1, release: [], pinned: [{ user: 'user302', atMs }] },
    ]);
  });

  claims('voiding one vote of a double vote does not release its voter; voiding both does', async () => {
    const world = open();
    const ref = await world.list('double');
    const pair = [vote(ref, 311), vote(ref, 312, { user: 'user311', voteNumber: 1 })];
    await world.ledger.flush({ entities: [], votes: pair });
    await world.voidVote(itagOf(311), 'operator');
    await world.voidVote(itagOf(312), 'operator');

    const items = (await world.ledger.listAdjustments(10, ref)).map(({ item }) => item);
    assert.equal(
      items.map((item) => (item.kind === 'adjust' ? item.release.length : -1)),
      [0, 1],
    );
  });
};

const claimResets = (claims: Claims, open: () => World): void => {
  claims('a reset voids older votes once, and late votes from before it are subtracted again', async () => {
    const world = open();
    const ref = await world.list('reset');
    const atMs = Date.UTC(2026, 10, 21);
    const votes = [vote(ref, 401), vote(ref, 402, { upvote: false }), vote(ref, 403, { atMs: atMs + 1 })];
    await world.ledger.flush({ entities: [], votes });
    await world.reset(ref, atMs);
    await world.reset(ref, atMs);
    await world.ledger.flush({ entities: [], votes: [...votes, vote(ref, 404), vote(ref, 405, { atMs })] });

    const states = await world.votes();
    const reasons = [401, 402, 403, 404, 405].map((number) => states[itagOf(number)]);
    assert.equal(reasons, ['operator', 'operator', '', 'operator', '']);
    const items = (await world.ledger.listAdjustments(10, ref)).map(({ item }) => item);
    const adjust = { kind: 'adjust', target: ref, pinned: [] };
    assert.equal(items, [
      { ...adjust, sequence: 1, upvotes: -1, downvotes: -1, releaseBeforeMs: atMs, release: [] },
      {
        ...adjust,
        sequence: 2,
        upvotes: -1,
        downvotes: 0,
        releaseBeforeMs: 0,
        release: [{ user: 'user404', atMs: Date.UTC(2026, 10, 20, 12) }],
      },
    ]);
  });
};

const claimAcknowledging = (claims: Claims, open: () => World): void => {
  claims('an adjustment stays open until the flushed totals contain it', async () => {
    const world = open();
    const ref = await world.list('settled');
    await world.ledger.flush({ entities: [], votes: [vote(ref, 501), vote(ref, 502)] });
    await world.voidVote(itagOf(501), 'operator');
    await world.voidVote(itagOf(502), 'operator');
    const ids = (await world.ledger.listAdjustments(10, ref)).map(({ id }) => id);
    assert.is(ids.length, 2);
    const [first, last] = ids;
    const next = await world.ledger.listAdjustments(10, { ...ref, afterId: first as number });
    assert.equal(
      next.map(({ id }) => id),
      [last],
    );

    await world.ledger.markAdjustmentsDelivered(ids);
    assert.is((await world.ledger.listAdjustments(10, ref)).length, 2);
    await world.ledger.flush({ entities: [dirty(ref, 1, { version: 1, adjustment: 1 })], votes: [] });
    await world.ledger.markAdjustmentsDelivered(ids);
    assert.equal(
      (await world.ledger.listAdjustments(10, ref)).map(({ id }) => id),
      ids.slice(1),
    );
    await world.remove(ref);
    await world.ledger.markAdjustmentsDelivered(ids);
    assert.equal(
      (await world.ledger.listAdjustments(10, ref)).map(({ item }) => item.kind),
      ['forget'],
    );
  });

  claims('votes of a deleted listing are void, also those that arrive later', async () => {
    const world = open();
    const ref = await world.list('dead');
    await world.ledger.flush({ entities: [], votes: [vote(ref, 601)] });
    await world.remove(ref);
    await world.ledger.flush({ entities: [], votes: [vote(ref, 602)] });

    const states = await world.votes();
    assert.equal([states[itagOf(601)], states[itagOf(602)]], ['deleted', 'deleted']);
    assert.equal(
      (await world.ledger.listAdjustments(10, ref)).map(({ item }) => item.kind),
      ['forget'],
    );
  });
};

/** Guarantees that a hot store relies on after a loss. */
const claimLosses = (claims: Claims, open: () => World): void => {
  claims('flushes of an old generation write neither totals nor votes', async () => {
    const world = open();
    const ref = await world.list('overtaken');
    const round = (generation: number) =>
      world.ledger.flush({ entities: [dirty(ref, generation, { version: 3, upvotes: 1 })], votes: [cast] });
    const cast = vote(ref, 951, { user: 'late' });
    const given = await world.ledger.takeGeneration([ref.shard], 0);

    assert.is(await reasonOf(round(given - 1)), 'outdated not_applied');
    assert.is((await world.votes())[cast.itag], undefined);
    await round(given);
    assert.is((await world.votes())[cast.itag], '');
  });

  claims('a round that is outdated in one shard writes nothing of the others', async () => {
    const world = open();
    const one = await world.list('whole-1');
    let other = one;
    for (let count = 2; other.shard === one.shard; count++) other = await world.list(`whole-${count}`);
    const generation = await world.ledger.takeGeneration([one.shard, other.shard], 0);
    const round = (version: number, ofOther: number) =>
      world.ledger.flush({
        entities: [
          dirty(one, generation, { version, clicks: version }),
          dirty(other, ofOther, { version, clicks: version }),
        ],
        votes: [],
      });
    await round(5, generation);

    assert.is(await reasonOf(round(6, generation - 1)), 'outdated not_applied');

    assert.is(await clicksOf(world, one.id), 5);
    assert.equal((await world.ledger.readFlushedPositions())[one.shard], { generation, version: 5 });
    await round(7, generation);
    assert.is(await clicksOf(world, other.id), 7);
  });

  claims('the flushed position of a shard is recorded', async () => {
    const world = open();
    const [one, other] = [await world.list('place-1'), await world.list('place-2')];
    const generation = await world.ledger.takeGeneration([one.shard, other.shard], 0);
    const flush = (ref: typeof one, version: number) =>
      world.ledger.flush({ entities: [dirty(ref, generation, { version })], votes: [] });

    assert.ok(((await world.ledger.readFlushedPositions())[one.shard]?.generation ?? -1) < generation);
    await flush(one, 9);
    await flush(one, 4);

    assert.equal((await world.ledger.readFlushedPositions())[one.shard], { generation, version: 9 });
  });
};

const claimVoters = (claims: Claims, open: () => World): void => {
  claims('voters who must wait are listed, oldest first, in pages', async () => {
    const world = open();
    const ref = await world.list('voters');
    const users = ['u3', 'u1', 'u2', 'u4', 'u5'];
    const fromMs = Date.UTC(2026, 10, 20, 12);
    const votes = users.flatMap((user, index) =>
      [0, 1].map((voteNumber) =>
        vote(ref, 960 + 2 * index + voteNumber, { user, atMs: fromMs + 60_000 * index, voteNumber }),
      ),
    );
    await world.ledger.flush({ entities: [], votes });
    await world.voidVote(itagOf(962), 'operator');
    await world.voidVote(itagOf(963), 'operator');
    await world.voidVote(itagOf(964), 'operator');
    await world.voidVote(itagOf(966), 'redeemed');
    const read = (sinceMs: number, after: { user: string; atMs: number } | null) =>
      world.ledger.listVoters(ref, { sinceMs, after, limit: 2 });

    const first = await read(0, null);
    assert.equal(first, [
      { user: 'u3', atMs: fromMs, pinned: false },
      { user: 'u2', atMs: fromMs + 120_000, pinned: false },
    ]);
    assert.equal(await read(0, first[1] ?? null), [
      { user: 'u4', atMs: fromMs + 180_000, pinned: true },
      { user: 'u5', atMs: fromMs + 240_000, pinned: false },
    ]);
    assert.equal(
      (await read(fromMs + 120_001, null)).map(({ user }) => user),
      ['u4', 'u5'],
    );
    assert.equal(await read(0, { user: 'u5', atMs: fromMs + 240_000 }), []);
  });
};

/** Registers every claim with `claims`, to be checked on the world that `open` returns. */
export const claimLedger = (claims: Claims, open: () => World): void => {
  const parts = [
    claimTotals,
    claimLifetimes,
    claimVotes,
    claimVoids,
    claimResets,
    claimAcknowledging,
    claimLosses,
    claimVoters,
  ];
  for (const part of parts) part(claims, open);
};
