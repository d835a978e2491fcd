/**
 * The ledger's contract on a Postgres server of the test's own: the same claims as on the embedded one and on
 * the model.
 */
import { suite } from 'uvu';
import { migrate } from '../../../storage/sql/migrate.ts';
import { openServerSql } from '../../../storage/sql/server.ts';
import { startPostgres } from '../../support/postgres-server.ts';
import { claimLedger } from '../ledger/contract.ts';
import { worldOn } from '../ledger/world.ts';

const test = suite('ledger on postgres');
const server = await startPostgres();
const opened = await openServerSql(await server.database('ledger'));
await migrate(opened.sql);
const world = worldOn(opened.sql, opened.close);
test.after(async () => {
  await world.close();
  await server.close();
});

claimLedger(test, () => world);

test.run();
