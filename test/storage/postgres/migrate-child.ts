/**
 * One process that brings a database up to date: `node migrate-child.ts <address>`. Prints how many files it
 * found missing. Started by migrate.test.ts.
 */
import { connectSql } from '../../../storage/sql/client.ts';
import { migrate } from '../../../storage/sql/migrate.ts';

const sql = connectSql(process.argv[2] ?? '');
process.stdout.write(`${await migrate(sql)}\n`);
await sql.end();
