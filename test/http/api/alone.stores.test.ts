/**
 * Routes on `DATABASE_URL` alone, LMDB beside a real Postgres: the tests of the embedded stores, once more.
 * Time limit: 300 s.
 */
import { suite } from 'uvu';
import { startPostgres } from '../../support/postgres-server.ts';

const test = suite('routes beside Postgres');
const postgres = await startPostgres();
process.env.ALONE_SERVER = await postgres.database('maintenance');
const files = ['bots', 'stats', 'votes', 'vote-log', 'credits', 'members', 'sessions'];
for (const file of files) await import(`./${file}.test.ts`);

// Suites run in the order of their registration.
test('the server is closed', () => postgres.close());

test.run();
