/**
 * Redeems from three nodes with a pool each on one Postgres server, where they can be concurrent.
 */
import { suite } from 'uvu';
import { migrate } from '../../../storage/sql/migrate.ts';
import { openServerSql } from '../../../storage/sql/server.ts';
import { startPostgres } from '../../support/postgres-server.ts';
import { claimRedeems, prepareRedeems } from '../ledger/redeems.ts';

const test = suite('redeem on postgres');
const server = await startPostgres();
const url = await server.database('redeem');
const nodes = [await openServerSql(url), await openServerSql(url), await openServerSql(url)];
const pools = nodes.map(({ sql }) => sql);
test.before(async () => {
  await migrate(pools[0] as (typeof pools)[number]);
  await prepareRedeems(pools[0] as (typeof pools)[number]);
});
test.after(async () => {
  await Promise.all(nodes.map((node) => node.close()));
  await server.close();
});

claimRedeems(test, () => pools);

test.run();
