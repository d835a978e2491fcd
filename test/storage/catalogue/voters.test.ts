/**
 * What counts for voters, against a replay: whatever voids, undos, resets and redeems follow each other, and
 * no total moves because of it.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { importLines } from '../../../storage/import/import.ts';
import type { Sql } from '../../../storage/sql/client.ts';
import { dump } from '../import/store.ts';
import { openDirectory } from './directory.ts';
import { assertSameSummaries, assertSameVotes, drawSeed, runReplay } from './voters-replay.ts';

const test = suite('voters');
const { sql, close } = await openDirectory();
test.after(close);
const replay = await runReplay(sql, { seed: drawSeed(), votes: 1_200, listings: 3, authors: 12, batch: 8 });

test('each vote counts for its voter and for the totals as a replay says', () => assertSameVotes(replay));

test('times and streaks are what a replay says', () => assertSameSummaries(replay, 60));

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
