/**
 * Redeeming on the embedded store, which runs one transaction at a time.
 */
import { suite } from 'uvu';
import { claimRedeems, prepareRedeems } from './redeems.ts';
import { openTemporarySql } from './world.ts';

const test = suite('redeem');
const { sql, close } = await openTemporarySql();
test.before(() => prepareRedeems(sql));
test.after(() => close());

claimRedeems(test, () => [sql]);

test.run();
