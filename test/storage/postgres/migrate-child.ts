/**
 * A process that migrates a database: `node migrate-child.ts <url>`. Prints how many migrations it applied.
 */
import { connectSql } from '../../../storage/sql/client.ts';
import { migrate } from '../../../storage/sql/migrate.ts';

const sql = connectSql(process.argv[2] ?? '');
process.stdout.write(`${await migrate(sql)}\n`);
await sql.end();
