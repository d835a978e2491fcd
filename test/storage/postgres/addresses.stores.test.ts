/**
 * Addresses of a real Postgres that the driver does not read by itself.
 */
import { networkInterfaces } from 'node:os';
import * as assert from 'uvu/assert';
import { connectSql } from '../../../storage/sql/client.ts';
import { createSuiteNeeding } from '../../support/needing-suite.ts';
import { startPostgres } from '../../support/postgres-server.ts';

const test = createSuiteNeeding('addresses of a real Postgres', () => {
  const all = Object.values(networkInterfaces()).flat();
  if (!all.some((one) => one?.address === '::1')) throw new Error('this machine has no IPv6');
});

test('a server is reached by its IPv6 address, alone or behind another host', async () => {
  const server = await startPostgres({ settings: { listen_addresses: '127.0.0.1,::1' } });
  const address = new URL(await server.database('six'));
  try {
    for (const hosts of [`[::1]:${server.port}`, `127.0.0.1:1,[::1]:${server.port}`]) {
      const sql = connectSql(`postgres://rollcall@${hosts}${address.pathname}`, { connectionsMax: 1 });
      const [row] = await sql`select host(inet_server_addr()) as host, inet_server_port() as port`;
      await sql.end();

      assert.equal({ ...row }, { host: '::1', port: server.port });
    }
  } finally {
    await server.close();
  }
});

test.run();
