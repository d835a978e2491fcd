/**
 * A walk through the vote log of a listing with a million votes on a real Postgres, while nodes flush further
 * votes and number imported ones: it meets every row exactly once, in order. Time limit: 600 s.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { EntityRef } from '../../../engine/ids.ts';
import { readLog, readLogHead } from '../../../storage/catalogue/votes/vote-log.ts';
import { createLedger } from '../../../storage/ledger/ledger.ts';
import { assignNumbers } from '../../../storage/ledger/vote-log.ts';
import type { Sql } from '../../../storage/sql/client.ts';
import { vote, worldOn } from '../ledger/world.ts';
import { openDatabase } from './database.ts';

const test = suite('walk through a long vote log');
const oldRows = 1_000_000;
const rowsPerStep = 20_000;
const importedRows = 3_000;
const votesPerFlush = 50;
const flushers = 3;
const pageRows = 1_000;

const { sql, pools } = await openDatabase(test, flushers + 1);
const world = worldOn(sql, async () => undefined);
const atMs = Date.UTC(2026, 9, 20, 12);
const newestMs = Date.UTC(2026, 10, 20, 12);

/** Numbered rows, one a second; in steps, because a statement has a time limit. */
const insertOldRows = async (ref: EntityRef): Promise<void> => {
  for (let from = 1; from <= oldRows; from += rowsPerStep) {
    await sql`
      insert into votes (itag, created_at, incarnation, target_type, target_id, author, upvote, vote_num,
        log_number)
      select ('00000000-0000-4000-9000-' || lpad(number::text, 12, '0'))::uuid,
        ${new Date(atMs)}::timestamptz + number * interval '1 second', ${ref.incarnation}, ${ref.kind},
        ${ref.id}, 'user' || number, number % 7 > 0, 0, number
      from generate_series(${from}::int, ${from + rowsPerStep - 1}::int) as number`;
  }
  await sql`update totals set votes_logged = ${oldRows} where incarnation = ${ref.incarnation}`;
};

const insertImportedRows = (ref: EntityRef): Promise<unknown> => sql`
  insert into votes (itag, created_at, incarnation, target_type, target_id, author, upvote, vote_num)
  select ('00000000-0000-4000-a000-' || lpad(number::text, 12, '0'))::uuid, ${new Date(atMs)},
    ${ref.incarnation}, ${ref.kind}, ${ref.id}, 'imported' || number, true, 0
  from generate_series(1, ${importedRows}) as number`;

/** Flushes further votes of the listing until the walk is over; returns how many. */
const keepVoting = async (
  pool: Sql,
  ref: EntityRef,
  { flusher, isOver }: { readonly flusher: number; readonly isOver: () => boolean },
): Promise<number> => {
  const ledger = createLedger(pool);
  let sent = 0;
  while (!isOver()) {
    const votes = Array.from({ length: votesPerFlush }, () =>
      vote(ref, (flusher + 1) * 10_000_000 + ++sent, { atMs: newestMs + sent }),
    );
    await ledger.flush({ entities: [], votes });
  }
  return sent;
};

test('it meets every row once, in order, also those that come meanwhile', async () => {
  const ref = await world.list('long-log');
  // A flush creates the partitions of its months; these two votes are no part of the walk.
  await world.ledger.flush({
    entities: [],
    votes: [vote(ref, 1, { atMs }), vote(ref, 2, { atMs: newestMs })],
  });
  await sql`delete from votes`;
  await insertOldRows(ref);
  let over = false;
  const writing = pools
    .slice(1)
    .map((pool, flusher) => keepVoting(pool, ref, { flusher, isOver: () => over }));
  const met = new Set<string>();
  let next = 0;
  const readOn = async (): Promise<number> => {
    const rows = await readLog(sql, ref, { after: next, limit: pageRows });
    for (const { number, itag } of rows) {
      assert.is(number, next + 1);
      assert.not(met.has(itag), itag);
      met.add(itag);
      next = number;
    }
    return rows.length;
  };

  let numbering: Promise<readonly number[]> = Promise.resolve([]);
  try {
    while (next < oldRows / 2) await readOn();
    await insertImportedRows(ref);
    numbering = Promise.all(pools.slice(0, 2).map((pool) => assignNumbers(pool, ref.incarnation)));
    while (next < oldRows + votesPerFlush) await readOn();
  } finally {
    over = true;
    await Promise.allSettled([...writing, numbering]);
  }
  const sent = (await Promise.all(writing)).reduce((sum, one) => sum + one, 0);
  const numbered = (await numbering).reduce((sum, one) => sum + one, 0);
  while ((await readOn()) > 0);

  const [row] = await sql<{ rows: number }[]>`select count(*) as rows from votes`;
  assert.ok(sent >= flushers * votesPerFlush, `${sent} votes came meanwhile`);
  assert.is(numbered, importedRows);
  assert.equal([met.size, row?.rows], [oldRows + importedRows + sent, oldRows + importedRows + sent]);
  assert.is((await readLogHead(sql, ref))?.number, next);
});

test.run();
