/**
 * The model keeps the same promises as the ledger over SQL.
 */
import { suite } from 'uvu';
import { claimLedger } from '../storage/ledger/contract.ts';
import { openModelWorld } from '../storage/ledger/world.ts';

const test = suite('ledger model');
const world = await openModelWorld();

claimLedger(test, () => world);

test.run();
