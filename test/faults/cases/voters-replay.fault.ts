/**
 * What counts for voters over 1,000,000 votes on Postgres, against a replay. `SEED` repeats one.
 */
import { suite } from 'uvu';
import {
  assertSameLog,
  assertSameSummaries,
  assertSameTop,
  assertSameVotes,
  drawSeed,
  runReplay,
} from '../../storage/catalogue/voters-replay.ts';
import { openDatabase } from '../../storage/postgres/database.ts';

const test = suite('a million votes and their voters');
const { sql } = await openDatabase(test);
const votes = Number(process.env.VOTES ?? 1_000_000);

test('what counts for voters is what a replay says', async () => {
  const size = { seed: drawSeed(), votes, listings: 20, authors: 3_000, batch: 2_000 };
  const replay = await runReplay(sql, size);
  await assertSameVotes(replay);
  await assertSameSummaries(replay, 2_000);
  await assertSameLog(replay, 20);
  await assertSameTop(replay);
});

test.run();
