/**
 * The history on the embedded SQL.
 */
import { suite } from 'uvu';
import { openDirectory } from '../catalogue/directory.ts';
import { registerHistoryTests } from './claims.ts';
import { registerHistoryModelTest } from './model.ts';

const test = suite('history');
const { sql, close } = await openDirectory();
test.after(() => close());

registerHistoryTests(test, () => sql);
registerHistoryModelTest(test, () => sql);

test.run();
