/**
 * Origins of votes in SQL: one row for each vote that has one, and none after their days.
 */
import * as assert from 'uvu/assert';
import type { OutboxVote } from '../../../engine/ports.ts';
import { createOriginEncoder, parseOrigin } from '../../../engine/rules/vote-origin.ts';
import { purgeOrigins } from '../../../storage/ledger/partitions.ts';
import { itagOf, type RealWorld, vote } from './world.ts';

type Claims = (title: string, claim: () => Promise<void>) => void;

const encode = createOriginEncoder(new Uint8Array(32));
const client = { address: '203.0.113.9', agent: 'a' };
/** As SQL prints numbers. */
const normalise = (origin: string) =>
  Object.fromEntries(
    Object.entries(parseOrigin(origin)).map(([name, value]) => [
      name,
      value === 'NULL' ? value : String(BigInt(value)),
    ]),
  );
const never = new AbortController().signal;

const listOrigins = ({ sql }: RealWorld, numbers: readonly number[]) => sql<Record<string, unknown>[]>`
    select itag, at, incarnation, author, address_hash::text as "addressHash",
      network_hash::text as "networkHash", agent_hash::text as "agentHash",
      coalesce(account_age::text, 'NULL') as "accountAge", flags
    from vote_origins where itag = any(${numbers.map(itagOf)}::uuid[]) order by itag`;
const countOrigins = async (world: RealWorld, numbers: readonly number[]) =>
  (await listOrigins(world, numbers)).length;

export const registerVoteOriginTests = (test: Claims, open: () => RealWorld): void => {
  test('vote origins: each vote that has one gets one row, also when it is flushed again', async () => {
    const { ledger, list } = open();
    const ref = await list('origins');
    const atMs = Date.UTC(2026, 10, 20, 12, 0, 0, 7);
    const origins = [
      undefined,
      encode(client, atMs),
      encode({ ...client, firstSeenMs: atMs - 61_000 }, atMs),
    ];
    const votes = origins.map((origin, index): OutboxVote => {
      const plain = vote(ref, 72_000 + index, { atMs });
      return origin === undefined ? plain : { ...plain, origin };
    });
    await ledger.flush({ entities: [], votes: votes.slice(0, 2) });
    await ledger.flush({ entities: [], votes });
    await ledger.flush({ entities: [], votes: votes.slice(0, 1) });

    assert.equal(
      [...(await listOrigins(open(), [72_000, 72_001, 72_002]))],
      [1, 2].map((index) => ({
        itag: itagOf(72_000 + index),
        at: new Date(atMs),
        incarnation: ref.incarnation,
        author: `user${72_000 + index}`,
        ...normalise(origins[index] ?? ''),
        flags: 0,
      })),
    );
  });

  registerPurgeTests(test, open);
};

const registerPurgeTests = (test: Claims, open: () => RealWorld): void => {
  test('vote origins: a purge deletes old origins and their findings, by month and by row', async () => {
    const { ledger, list, sql } = open();
    const ref = await list('origins-old');
    const keptMs = Date.UTC(2027, 5, 15, 12);
    const times = [Date.UTC(2027, 3, 30), Date.UTC(2027, 4, 1), keptMs - 1, keptMs, Date.UTC(2027, 6, 1)];
    const numbers = times.map((_, index) => 72_100 + index);
    const votes = times.map((atMs, index) =>
      vote(ref, 72_100 + index, { atMs, origin: encode(client, atMs) }),
    );
    await ledger.flush({ entities: [], votes });
    for (const atMs of times)
      await sql`
        insert into vote_suspects (kind, at, incarnation, address_hash, first_at, last_at, figures)
        values (1, ${new Date(atMs)}, ${ref.incarnation}, 0, ${new Date(atMs)}, ${new Date(atMs)}, '{}')`;
    await ledger.writeDeadLetter({ vote: votes[2] as OutboxVote, reason: 'a test' });
    await ledger.writeDeadLetter({ vote: votes[3] as OutboxVote, reason: 'a test' });
    assert.is(await countOrigins(open(), numbers), 5);

    await purgeOrigins(sql, keptMs, never);

    assert.equal(
      (await listOrigins(open(), numbers)).map(({ itag }) => itag),
      [itagOf(72_103), itagOf(72_104)],
    );
    const [suspects] =
      await sql`select count(*)::int as left from vote_suspects where incarnation = ${ref.incarnation}`;
    assert.is(suspects?.left, 2);
    const letters = await sql`
      select body ? 'origin' as has from dead_letters
      where subject = any(${[2, 3].map((index) => `vote ${itagOf(72_100 + index)}`)}) order by subject`;
    assert.equal(
      letters.map(({ has }) => has),
      [false, true],
    );
    const [dropped] = await sql`select to_regclass('vote_origins_2027_04') is null as gone`;
    assert.is(dropped?.gone, true);
    assert.is((await sql`select from votes where itag = any(${numbers.map(itagOf)}::uuid[])`).length, 5);
    await purgeOrigins(sql, Date.UTC(2100, 0), never);
    assert.is(await countOrigins(open(), numbers), 0);
  });

  test('vote origins: a partition takes over what fell into the default one', async () => {
    const { ledger, list, sql } = open();
    const ref = await list('origins-default');
    const atMs = Date.UTC(2033, 5, 15);
    await sql`
      insert into vote_origins (itag, at, incarnation, author, address_hash, network_hash, agent_hash)
      values (${itagOf(72_200)}, ${new Date(atMs)}, ${ref.incarnation}, 'somebody', 1, 2, 3)`;
    await ledger.flush({ entities: [], votes: [vote(ref, 72_201, { atMs, origin: encode(client, atMs) })] });

    const rows = await sql<{ name: string }[]>`
      select tableoid::regclass::text as name from vote_origins
      where itag = any(${[72_200, 72_201].map(itagOf)}::uuid[])`;
    assert.equal(
      rows.map(({ name }) => name),
      ['vote_origins_2033_06', 'vote_origins_2033_06'],
    );
  });
};
