/**
 * The ledger's contract on a Postgres server: the same claims as on the embedded SQL and on the model.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { resetVotes } from '../../../storage/ledger/adjust.ts';
import { locks } from '../../../storage/ledger/locks.ts';
import { migrate } from '../../../storage/sql/migrate.ts';
import { openServerSql } from '../../../storage/sql/server.ts';
import { startPostgres } from '../../support/postgres-server.ts';
import { claimLedger } from '../ledger/contract.ts';
import { claimLetters } from '../ledger/letters.ts';
import { claimLineages } from '../ledger/timelines.ts';
import { registerVoteLogTests } from '../ledger/vote-log.ts';
import { worldOn } from '../ledger/world.ts';

const test = suite('ledger on postgres');
const server = await startPostgres();
const url = await server.database('ledger');
const opened = await openServerSql(url);
await migrate(opened.sql);
const world = worldOn(opened.sql, opened.close);
test.after(async () => {
  await world.close();
  await server.close();
});

claimLedger(test, () => world);
claimLetters(test, () => world);
claimLineages(test, () => world);
registerVoteLogTests(test, () => world);

test('a reset may take longer than the statement timeout, which is for requests', async () => {
  const impatient = await openServerSql(url, { statementTimeoutMs: 1_000, lockTimeoutMs: 20_000 });
  const { sql } = opened;
  const { incarnation } = await world.list('long-reset');
  try {
    const reset = await sql.begin(async (holder) => {
      await holder`select pg_advisory_xact_lock_shared(${locks.votes})`;
      const waiting = resetVotes(impatient.sql, { scope: incarnation, atMs: 1_000, reason: 'operator' });
      await Promise.race([waiting, holder`select pg_sleep(1.6)`]);
      return { waiting };
    });
    assert.is(await reset.waiting, 0);
  } finally {
    await impatient.close();
  }
});

test.run();
