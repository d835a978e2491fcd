/**
 * A process that writes numbers into the embedded database until it is killed: run by kill.stores.test.ts and
 * ended with SIGKILL. Prints each number after its commit.
 */
import { openEmbeddedSql } from '../../../storage/embedded/pglite.ts';

const [directory = '', from = '0'] = process.argv.slice(2);
const { sql } = await openEmbeddedSql({ directory });
for (let number = Number(from); ; number++) {
  await sql.begin(async (transaction) => {
    await transaction`insert into numbers (number) values (${number})`;
    await transaction`update latest set number = ${number}`;
  });
  process.stdout.write(`${number}\n`);
  if (number % 20 === 10) await sql`checkpoint`;
}
