/**
 * What counts for voters over 1,000,000 votes on Postgres, against a replay. `SEED` repeats one, and `VOTES`
 * makes it shorter. Time limit: 2400 s.
 */
import { suite } from 'uvu';
import { connectSql } from '../../../storage/sql/client.ts';
import { migrate } from '../../../storage/sql/migrate.ts';
import {
  assertSameLog,
  assertSameSummaries,
  assertSameTop,
  assertSameVotes,
  drawSeed,
  runReplay,
} from '../../storage/catalogue/voters-replay.ts';
import { startPostgres } from '../../support/postgres-server.ts';

const test = suite('a million votes and their voters');
const server = await startPostgres();
// Without a circuit breaker: the model holds the event loop for seconds.
const sql = connectSql(await server.database('voters'), { statementTimeoutMs: 600_000 });
test.after(async () => {
  await sql.end();
  await server.close();
});
const votes = Number(process.env.VOTES ?? 1_000_000);

test('what counts for voters is what a replay says', async () => {
  await migrate(sql);
  const size = { seed: drawSeed(), votes, listings: 20, authors: 3_000, batch: 2_000 };
  const replay = await runReplay(sql, size);
  await assertSameVotes(replay);
  await assertSameSummaries(replay, 2_000);
  await assertSameLog(replay, 20);
  const startedMs = performance.now();
  await assertSameTop(replay);
  const counts = replay.listings.size * 2;
  console.log(`${counts} orders of voters in ${Math.round(performance.now() - startedMs)} ms`);
});

test.run();
