/**
 * Claims about dead letters for both kinds of SQL: their number is bounded by the refused listings.
 */
import * as assert from 'uvu/assert';
import { createFailures, type DeadLetter } from '../../../storage/catalogue/operator/failures.ts';
import { countDeadLetters } from '../../../storage/ledger/dead-letters.ts';
import { dirty, type RealWorld, vote } from './world.ts';

type Claims = (title: string, claim: () => Promise<void>) => void;

export const claimLetters = (claims: Claims, open: () => RealWorld): void => {
  claims('a repeatedly refused listing has one letter, with the newest content and a count', async () => {
    const { ledger, sql, list } = open();
    await sql`delete from dead_letters`;
    const [sick, other] = [await list('sick'), await list('sick-too')];
    for (let version = 1; version <= 5; version++) {
      const reason = `refusal ${version}`;
      await ledger.writeDeadLetter({ entity: dirty(sick, 1, { version, clicks: version }), reason });
    }
    await ledger.writeDeadLetter({ entity: dirty(other, 1, { version: 1 }), reason: 'other' });
    for (let times = 0; times < 2; times++)
      await ledger.writeDeadLetter({ vote: vote(sick, 751), reason: 'vote' });

    const { rows: letters } = await createFailures(sql).listDeadLetters(1);
    assert.is(await countDeadLetters(sql), 3);

    assert.equal(
      letters.map(({ source, reason, refusals }) => ({ source, reason, refusals })),
      [
        { source: 'vote', reason: 'vote', refusals: 2 },
        { source: 'entity', reason: 'other', refusals: 1 },
        { source: 'entity', reason: 'refusal 5', refusals: 5 },
      ],
    );
    const { body, newest_at, created_at } = letters[2] as DeadLetter;
    assert.is((body as { state: { clicks: number } }).state.clicks, 5);
    assert.ok(newest_at >= created_at);
  });
};

/** Claims about trying them again, on both kinds of SQL. */
export const claimRetries = (claims: Claims, open: () => RealWorld): void => {
  claims(
    'letters tried again are stored once the cause is gone; what was altered in them stays',
    async () => {
      const { ledger, sql, list } = open();
      await sql`delete from dead_letters`;
      const ref = await list('recovering');
      const [good, altered] = [vote(ref, 761), { ...vote(ref, 762), user: 'a\0b' }];
      await ledger.writeDeadLetter({ entity: dirty(ref, 1, { version: 3, clicks: 7 }), reason: 'x' });
      await ledger.writeDeadLetter({ vote: good, reason: 'x' });
      await ledger.writeDeadLetter({ vote: altered, reason: 'x' });
      await sql`insert into dead_letters (source, body, reason) values ('entity', '{}', 'as it was')`;
      const failures = createFailures(sql);

      const isOther = sql.unsafe(`author <> '${good.user}'`);
      await sql`alter table votes add constraint sick check (${isOther}) not valid`;
      const first = await failures.retryDeadLetters(true);
      await sql`alter table votes drop constraint sick`;
      const second = await failures.retryDeadLetters(true);
      const { rows } = await failures.listDeadLetters(1);

      assert.equal(
        [first, second],
        [
          { stored: 1, refused: 3, left: 0 },
          { stored: 1, refused: 2, left: 0 },
        ],
      );
      assert.equal(
        rows.map(({ refusals }) => refusals),
        [3, 3],
      );
      const [row] = await sql`
      select clicks, log_number from totals join votes using (incarnation) where itag = ${good.itag}`;
      assert.equal({ ...row }, { clicks: 7, log_number: 1 });
      assert.equal(await failures.retryDeadLetters(true), { stored: 0, refused: 2, left: 0 });
      await sql`delete from dead_letters`;
    },
  );
};
