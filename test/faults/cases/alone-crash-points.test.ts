/**
 * The crash points on `DATABASE_URL` alone: a node that counts in its data folder beside a real Postgres
 * dies at each. Time limit: 2400 s.
 */
import { suite } from 'uvu';
import { startPostgres } from '../../support/postgres-server.ts';

const test = suite('crash points beside Postgres');
const postgres = await startPostgres();
process.env.ALONE_SERVER = await postgres.database('maintenance');
await import('./embedded-crash-points.test.ts');

// Suites run in the order of their registration.
test('the server is closed', () => postgres.close());

test.run();
