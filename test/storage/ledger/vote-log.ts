/**
 * The contract of the vote log: the numbers of a listing's votes are dense and never change, whatever flushes
 * are repeated, or race. Run on both kinds of SQL.
 */
import * as assert from 'uvu/assert';
import type { EntityRef } from '../../../engine/ids.ts';
import { importLines } from '../../../storage/import/import.ts';
import type { Sql } from '../../../storage/sql/client.ts';
import { dirty, itagOf, type RealWorld, vote } from './world.ts';

type Claims = (title: string, claim: () => Promise<void>) => void;

const at = Date.UTC(2026, 10, 20, 12);

/** Numbers by itag, in the order of the numbers. */
const readNumbers = async (sql: Sql, { incarnation }: EntityRef): Promise<[string, number | null][]> => {
  const rows = await sql<{ itag: string; log_number: number | null }[]>`
    select itag, log_number from votes where incarnation = ${incarnation} order by log_number, itag`;
  return rows.map((row) => [row.itag, row.log_number]);
};
const readHead = async (sql: Sql, { incarnation }: EntityRef): Promise<number | undefined> => {
  const [row] = await sql<{ votes_logged: number }[]>`
    select votes_logged from totals where incarnation = ${incarnation}`;
  return row?.votes_logged;
};

export const registerVoteLogTests = (test: Claims, open: () => RealWorld): void => {
  test('vote log: numbers follow time within a flush, and flushes one another', async () => {
    const { ledger, list, sql } = open();
    const [one, other] = [await list('log-one'), await list('log-other')];
    const later = vote(one, 61_001, { atMs: at + 5 });
    await ledger.flush({
      entities: [dirty(one, 1, { upvotes: 2 })],
      votes: [later, vote(other, 61_002), vote(one, 61_003)],
    });
    await ledger.flush({ entities: [], votes: [vote(one, 61_004, { atMs: at - 60_000 })] });

    assert.equal(await readNumbers(sql, one), [
      [itagOf(61_003), 1],
      [itagOf(61_001), 2],
      [itagOf(61_004), 3],
    ]);
    assert.equal(await readNumbers(sql, other), [[itagOf(61_002), 1]]);
    assert.is(await readHead(sql, one), 3);
  });

  test('vote log: a repeated or overlapping flush takes no new number', async () => {
    const { ledger, list, sql } = open();
    const ref = await list('log-repeated');
    const first = [vote(ref, 61_011), vote(ref, 61_012)];
    await ledger.flush({ entities: [], votes: [...first, first[0] as (typeof first)[0]] });
    await ledger.flush({ entities: [], votes: first });
    await ledger.flush({ entities: [], votes: [vote(ref, 61_013), ...first] });

    assert.equal(await readNumbers(sql, ref), [
      [itagOf(61_011), 1],
      [itagOf(61_012), 2],
      [itagOf(61_013), 3],
    ]);
    assert.is(await readHead(sql, ref), 3);
  });

  test('vote log: flushes that race leave no hole', async () => {
    const { ledger, list, sql } = open();
    const ref = await list('log-race');
    const votes = Array.from({ length: 60 }, (_, index) => vote(ref, 61_700 + index, { atMs: at + index }));
    const slices = Array.from({ length: 20 }, (_, index) => votes.slice(index, index + 41));
    await Promise.all(slices.map((slice) => ledger.flush({ entities: [], votes: slice })));

    const numbers = await readNumbers(sql, ref);
    assert.equal(
      numbers.map(([, number]) => number),
      votes.map((_, index) => index + 1),
    );
    assert.is(await readHead(sql, ref), 60);
  });
  registerLateNumberTests(test, open);
  registerImportTests(test, open);
};

const registerImportTests = (test: Claims, open: () => RealWorld): void => {
  test('vote log: imports and flushes that race leave no hole', async () => {
    const { ledger, list, sql } = open();
    const refs = [await list('log-import-one'), await list('log-import-two')];
    const lines = Array.from({ length: 400 }, (_, index) => importedVote(refs[index % 2], index));
    await Promise.all([
      importLines(sql, lines, { batchLines: 40 }),
      importLines(sql, lines.slice(0, 200).reverse(), { batchLines: 60 }),
      ...Array.from({ length: 10 }, (_, index) =>
        ledger.flush({ entities: [], votes: refs.map((ref, of) => vote(ref, 69_000 + 2 * index + of)) }),
      ),
    ]);

    for (const ref of refs) {
      const numbers = (await readNumbers(sql, ref)).map(([, number]) => number);
      assert.equal(
        numbers,
        Array.from({ length: 210 }, (_, index) => index + 1),
      );
      assert.is(await readHead(sql, ref), 210);
    }
  });
};

const importedVote = (ref: EntityRef | undefined, index: number): string =>
  JSON.stringify({
    kind: 'vote',
    target_type: ref?.kind,
    target_id: ref?.id,
    author: `${100_000_000_000_000_000n + BigInt(index)}`,
    upvote: true,
    created_at: new Date(at - index * 60_000).toISOString(),
  });

const registerLateNumberTests = (test: Claims, open: () => RealWorld): void => {
  test('vote log: votes beside totals older than those in SQL get numbers, too', async () => {
    const { ledger, list, sql } = open();
    const [ahead, current] = [await list('log-ahead'), await list('log-current')];
    await ledger.flush({
      entities: [dirty(ahead, 1, { version: 2, upvotes: 2 })],
      votes: [vote(ahead, 61_005)],
    });
    await ledger.flush({
      entities: [dirty(ahead, 1, { upvotes: 1 }), dirty(current, 1, { upvotes: 1 })],
      votes: [vote(ahead, 61_006), vote(current, 61_007)],
    });

    assert.equal(await readNumbers(sql, ahead), [
      [itagOf(61_005), 1],
      [itagOf(61_006), 2],
    ]);
    assert.equal(await readNumbers(sql, current), [[itagOf(61_007), 1]]);
    assert.equal([await readHead(sql, ahead), await readHead(sql, current)], [2, 1]);
  });

  test('vote log: votes of a deleted listing get their row and no number', async () => {
    const { ledger, list, remove, sql } = open();
    const ref = await list('log-deleted');
    await remove(ref);
    await ledger.flush({ entities: [], votes: [vote(ref, 61_021)] });

    assert.equal(await readNumbers(sql, ref), [[itagOf(61_021), null]]);
  });
};
