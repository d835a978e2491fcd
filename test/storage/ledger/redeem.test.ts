/**
 * Redeeming on the embedded store, which runs one transaction at a time.
 */
import { suite } from 'uvu';
import { openDirectory } from '../catalogue/directory.ts';
import { claimRedeems, prepareRedeems } from './redeems.ts';

const test = suite('redeem');
const { sql, close } = await openDirectory();
test.before(() => prepareRedeems(sql));
test.after(() => close());

claimRedeems(test, () => [sql]);

test.run();
