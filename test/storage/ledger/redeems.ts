/**
 * Claims about redeeming under concurrent decisions about the same votes. They run on the embedded store and,
 * through several pools at once, on a Postgres server.
 */
import * as assert from 'uvu/assert';
import { StorageError } from '../../../engine/errors.ts';
import type { EntityRef } from '../../../engine/ids.ts';
import { type RedeemOutcome, redeemVotes, upsertTier } from '../../../storage/catalogue/votes/credits.ts';
import { deleteListing, resetVotes } from '../../../storage/ledger/adjust.ts';
import { voidVote } from '../../../storage/ledger/void-votes.ts';
import type { Sql } from '../../../storage/sql/client.ts';
import { refOf } from '../../support/refs.ts';
import { addBot, addUser } from '../catalogue/directory.ts';
import { addCountedVotes } from './votes.ts';

type Claims = (title: string, claim: () => Promise<void>) => void;

let bots = 0;

/** Opens the world that all claims share. */
export const prepareRedeems = async (sql: Sql): Promise<void> => {
  await addUser(sql, 'robin');
  for (const [position, votes, cents] of [
    [0, 100, 10],
    [1, 200, 5],
    [2, 50, 2],
  ] as const) {
    await upsertTier(sql, { id: `tier${position}`, target_type: 'bot', position, votes, cents });
  }
};

const newBot = async (sql: Sql, upvotes: number, downvotes = 0): Promise<EntityRef> => {
  const ref = await addBot(sql, `bot${++bots}`, { counted: { upvotes, downvotes } });
  await addCountedVotes(sql, ref, { upvotes, downvotes });
  return ref;
};

/** Retries like a client: a call that timed out on a lock was not applied. */
const redeem = async (sql: Sql, ref: EntityRef, votes: number): Promise<RedeemOutcome> => {
  for (let attempt = 0; ; attempt++) {
    try {
      return (await redeemVotes(sql, { ref, kind: 'bot', votes })) as RedeemOutcome;
    } catch (error) {
      const held =
        error instanceof StorageError && error.reason === 'busy' && error.outcome === 'not_applied';
      if (!held || attempt === 50) throw error;
    }
  }
};

interface BalanceInSql {
  readonly live: number;
  readonly redeemedRows: number;
  readonly redeemed: number;
  readonly credits: number;
  /** Sum of all adjustments. */
  readonly adjusted: number;
}
const readBalance = async (sql: Sql, { incarnation }: EntityRef): Promise<BalanceInSql> => {
  const [row] = await sql<BalanceInSql[]>`
    select (select count(*) from vote_rows
        where incarnation = ${incarnation} and upvote and not void) as live,
      (select count(*) from votes
        where incarnation = ${incarnation} and void_reason = 'redeemed'
          and credit_redeem in (select id from vote_redeems where incarnation = ${incarnation})
        ) as "redeemedRows",
      (select coalesce(sum(votes), 0)::bigint from vote_redeems
        where incarnation = ${incarnation}) as redeemed,
      (select coalesce(sum(credits), 0)::bigint from vote_redeems
        where incarnation = ${incarnation}) as credits,
      (select coalesce(sum((payload->>'upvotes')::bigint), 0)::bigint from adjustments
        where incarnation = ${incarnation} and action = 'adjust') as adjusted`;
  return { ...(row as BalanceInSql) };
};

const countOf = (outcomes: readonly RedeemOutcome[], kind: RedeemOutcome['kind']): number =>
  outcomes.filter((outcome) => outcome.kind === kind).length;

type PoolOf = (index: number) => Sql;

/** Each of the `pools` stands for one node. */
export const claimRedeems = (claims: Claims, pools: () => readonly Sql[]): void => {
  const poolOf = (index: number): Sql => pools()[index % pools().length] as Sql;
  claimVotes(claims, poolOf);
  claimListings(claims, poolOf);
  claimWorth(claims, poolOf);
};

/** Redeeming while other decisions concern the same votes. */
const claimVotes = (claims: Claims, poolOf: PoolOf): void => {
  claims('of 50 redeems of 100 of 1,000 votes at once, ten are accepted (I6)', async () => {
    const ref = await newBot(poolOf(0), 1_000);
    const outcomes = await Promise.all(
      Array.from({ length: 50 }, (_, index) => redeem(poolOf(index), ref, 100)),
    );

    assert.equal([countOf(outcomes, 'redeemed'), countOf(outcomes, 'too_few')], [10, 40]);
    assert.equal(await readBalance(poolOf(0), ref), {
      live: 0,
      redeemedRows: 1_000,
      redeemed: 1_000,
      credits: 1_000 + 1_000 + 7 * 200,
      adjusted: -1_000,
    });
  });

  claims('a vote is either redeemed or voided, and leaves the totals once', async () => {
    const ref = await newBot(poolOf(0), 60);
    const rows = await poolOf(0)<{ itag: string }[]>`
      select itag from votes where incarnation = ${ref.incarnation} order by created_at limit 20`;
    const [outcomes, voids] = await Promise.all([
      Promise.all(Array.from({ length: 8 }, (_, index) => redeem(poolOf(index), ref, 10))),
      Promise.all(rows.map(({ itag }, index) => voidVote(poolOf(index), itag, 'operator'))),
    ]);
    const voided = voids.filter(({ kind }) => kind === 'voided').length;
    const redeemed = 10 * countOf(outcomes, 'redeemed');
    const balance = await readBalance(poolOf(0), ref);

    assert.equal([balance.redeemedRows, balance.redeemed], [redeemed, redeemed]);
    assert.equal([balance.live, balance.adjusted], [60 - redeemed - voided, -redeemed - voided]);
  });
};

/** Redeeming while a listing, or all its votes, end. */
const claimListings = (claims: Claims, poolOf: PoolOf): void => {
  claims(
    'a listing that is deleted meanwhile is unknown, and nothing is redeemed of it afterwards',
    async () => {
      const ref = await newBot(poolOf(0), 100);
      const [outcomes] = await Promise.all([
        Promise.all(Array.from({ length: 10 }, (_, index) => redeem(poolOf(index), ref, 10))),
        poolOf(1).begin((transaction) => deleteListing(transaction, ref)),
      ]);
      const accepted = countOf(outcomes, 'redeemed');

      assert.is(accepted + countOf(outcomes, 'unknown_listing'), 10);
      assert.is((await redeem(poolOf(0), ref, 1)).kind, 'unknown_listing');
      const balance = await readBalance(poolOf(0), ref);
      assert.equal([balance.redeemedRows, balance.live], [10 * accepted, 0]);
    },
  );

  claims('a monthly reset voids unredeemed votes, and tier slices start again after it', async () => {
    const ref = await newBot(poolOf(0), 200);
    const reset = { scope: ref.incarnation, atMs: Date.now() - 1_000, reason: 'monthly_reset' } as const;
    const [outcomes] = await Promise.all([
      Promise.all(Array.from({ length: 10 }, (_, index) => redeem(poolOf(index), ref, 10))),
      resetVotes(poolOf(1), reset),
    ]);
    const accepted = countOf(outcomes, 'redeemed');
    const { adjusted, live, redeemedRows } = await readBalance(poolOf(0), ref);
    assert.equal([live, adjusted, redeemedRows], [0, -200, 10 * accepted]);

    await poolOf(0)`
      update votes set created_at = now(), void = false, void_reason = '', credit_redeem = null
      where itag in (select itag from votes where incarnation = ${ref.incarnation} limit 5)`;
    const after = await redeem(poolOf(0), ref, 5);
    assert.is(after.kind === 'redeemed' && after.credits, 50n);
  });
};

const claimWorth = (claims: Claims, poolOf: PoolOf): void => {
  claims(
    'what can be redeemed is what readers call valid, whatever was voided and reset before',
    async () => {
      const sql = poolOf(0);
      const ref = await newBot(sql, 30, 4);
      await sql`update votes set immutable = true where itag in (
      select itag from votes where incarnation = ${ref.incarnation} and upvote order by created_at limit 6)`;
      await sql`update votes set void = true, void_reason = 'operator', voided_at = now() where itag in (
      select itag from votes where incarnation = ${ref.incarnation} and immutable
      order by created_at limit 2)`;
      const [cut] = await sql<{ at: Date }[]>`
      select created_at as at from votes where incarnation = ${ref.incarnation}
      order by created_at offset 12 limit 1`;
      await resetVotes(sql, {
        scope: ref.incarnation,
        atMs: (cut as { at: Date }).at.getTime() + 1,
        reason: 'operator',
      });
      const [valid] = await sql<{ votes: number }[]>`
      select sum(case when upvote then 1 else -1 end)::bigint as votes from vote_rows
      where incarnation = ${ref.incarnation} and not void`;
      const votes = valid?.votes ?? 0;

      assert.ok(votes > 4 && votes < 26, `${votes} valid votes`);
      assert.equal(await redeem(sql, ref, votes + 1), { kind: 'too_few', redeemable: votes });
      assert.is((await redeem(sql, ref, votes)).kind, 'redeemed');
      assert.equal(await redeem(sql, ref, 1), { kind: 'too_few', redeemable: 0 });
    },
  );

  claims('a later listing of the same id does not inherit redeemed votes', async () => {
    const sql = poolOf(0);
    const ref = await newBot(sql, 120);
    await redeem(sql, ref, 110);
    await sql.begin((transaction) => deleteListing(transaction, ref));
    await sql`delete from vanity where target_id = ${ref.id}`;
    const again = await addBot(sql, ref.id, { counted: { upvotes: 10 } });
    await addCountedVotes(sql, again, { upvotes: 10, downvotes: 0 });

    const outcome = await redeem(sql, refOf('bot', again.id, again.incarnation), 10);
    assert.is(outcome.kind === 'redeemed' && outcome.credits, 100n, 'its slabs begin at the first');
  });

  claims('thousands of votes become one adjustment', async () => {
    const ref = await newBot(poolOf(0), 5_000);
    assert.is((await redeem(poolOf(0), ref, 4_000)).kind, 'redeemed');
    const rows = await poolOf(0)`select from adjustments where incarnation = ${ref.incarnation}`;

    assert.is(rows.length, 1);
  });
};
