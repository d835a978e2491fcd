/**
 * The model keeps the same promises as the ledger over SQL.
 */
import { suite } from 'uvu';
import { claimLedger } from '../storage/ledger/contract.ts';
import { openModelWorld } from '../storage/ledger/world.ts';

const test = suite('ledger model');
let world = await openModelWorld();

// Each test numbers its own flushes, and listings of several tests share a shard.
test.before.each(async () => {
  world = await openModelWorld();
});

claimLedger(test, () => world);

test.run();
