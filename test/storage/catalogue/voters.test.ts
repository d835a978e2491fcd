/**
 * What counts for voters, against a replay: whatever voids, undos, resets and redeems follow each other, and
 * no total moves because of it.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createVoters } from '../../../storage/catalogue/votes/voters.ts';
import { importLines } from '../../../storage/import/import.ts';
import type { Sql } from '../../../storage/sql/client.ts';
import { dump } from '../import/store.ts';
import { addBot, openDirectory } from './directory.ts';
import {
  assertSameLog,
  assertSameSummaries,
  assertSameTop,
  assertSameVotes,
  drawSeed,
  runReplay,
} from './voters-replay.ts';

const test = suite('voters');
const { sql, close } = await openDirectory();
test.after(close);
const replay = await runReplay(sql, { seed: drawSeed(), votes: 1_200, listings: 3, authors: 12, batch: 8 });

test('each vote counts for its voter and for the totals as a replay says', () => assertSameVotes(replay));

test('times and streaks are what a replay says', () => assertSameSummaries(replay, 60));

test('the log says as of each vote what a replay says', () => assertSameLog(replay, 5));

test('the top voters are those of a replay', () => assertSameTop(replay));

test('top voters that are read in slices are those of one aggregate', async () => {
  const ref = await addBot(sql, '200000000000000000');
  await sql`
    insert into votes (itag, created_at, incarnation, target_type, target_id, author, upvote, vote_num,
      rejected)
    select gen_random_uuid(), timestamptz '2026-01-01Z' + make_interval(secs => number / 7),
      ${ref.incarnation}, 'bot', ${ref.id}, 'voter' || number * number % 151, true, 0, number % 10 = 0
    from generate_series(1, 4_500) as number`;
  const expected = await sql`
    select author as name, count(*) as votes from votes
    where incarnation = ${ref.incarnation} and not rejected
    group by author order by count(*) desc, max(created_at), author collate "C"`;

  const found = await createVoters(sql).counts({ ref, by: 'author', since: '-infinity' }, Date.now());
  assert.equal(found?.counts, [...expected]);
});

test('an export that is imported elsewhere says the same of each vote', async () => {
  const text = await dump(sql);
  const other = await openDirectory();
  try {
    await importLines(other.sql, text.split('\n').slice(0, -1));
    const read = (from: Sql) => from`
      select itag, rejected, void, void_reason from vote_rows order by itag`;
    assert.equal([...(await read(other.sql))], [...(await read(sql))], `SEED=${replay.size.seed}`);
    assert.is(await dump(other.sql), text, `SEED=${replay.size.seed}`);
  } finally {
    await other.close();
  }
});

test.run();
