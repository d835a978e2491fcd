/**
 * A process that writes numbers into the embedded database until it is killed: run by kill.stores.test.ts and
 * ended with SIGKILL. Prints each number after its commit, and takes a snapshot now and then.
 */
import { openLedgerStore } from '../../../storage/embedded/open.ts';

const [dataDirectory = '', from = '0', snapshots = ''] = process.argv.slice(2);
const { sql, takeSnapshot, restored } = await openLedgerStore({ dataDirectory });
if (restored) throw new Error('a kill must not need a restore');
for (let number = Number(from); ; number++) {
  await sql.begin(async (transaction) => {
    await transaction`insert into numbers (number) values (${number})`;
    await transaction`update latest set number = ${number}`;
  });
  process.stdout.write(`${number}\n`);
  if (snapshots && number % 20 === 10) await takeSnapshot();
}
