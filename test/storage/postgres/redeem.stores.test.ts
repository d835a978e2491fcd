/**
 * Redeems from three nodes with a pool each on one Postgres server, where they can be concurrent.
 */
import { suite } from 'uvu';
import { claimRedeems, prepareRedeems } from '../ledger/redeems.ts';
import { openDatabase } from './database.ts';

const test = suite('redeem on postgres');
const { sql, pools } = await openDatabase(test, 3);
await prepareRedeems(sql);

claimRedeems(test, () => pools);

test.run();
