/**
 * Addresses of a real Postgres that the driver does not read by itself.
 */
import { chmodSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import * as assert from 'uvu/assert';
import { connectSql } from '../../../storage/sql/client.ts';
import { openServerSql } from '../../../storage/sql/server.ts';
import { makeFolder } from '../../support/folder.ts';
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

test('a socket, a parameter, and the first of several hosts that takes writes', async () => {
  const folder = makeFolder('rollcall-sockets-');
  chmodSync(folder, 0o777);
  const server = await startPostgres({ settings: { unix_socket_directories: folder } });
  const [standby, name] = [await startPostgres(), 'placed'];
  await server.database(name);
  const admin = connectSql(await standby.database(name), { connectionsMax: 1 });
  await admin.unsafe(`alter database ${name} set default_transaction_read_only = on`);
  await admin.end();
  const encoded = encodeURIComponent(folder);
  const both = `127.0.0.1:${standby.port},127.0.0.1:${server.port}`;
  try {
    for (const address of [
      `postgres://rollcall@%${encoded.slice(1)}:${server.port}/${name}`,
      `postgres://rollcall@/${name}?host=${folder}&port=${server.port}&sslmode=require`,
      `postgres:///?host=${folder}&port=${server.port}&user=rollcall&dbname=${name}`,
      `postgres:///${name}?host=127.0.0.1&port=${server.port}&user=rollcall`,
      `postgres://rollcall@${both}/${name}?target_session_attrs=read-write`,
    ]) {
      const { sql, close } = await openServerSql(address);
      const [row] = await sql`select current_setting('port')::int as port, current_database() as name`;
      await close();
      assert.equal({ ...row }, { port: server.port, name }, address);
    }
  } finally {
    await Promise.all([server.close(), standby.close()]);
  }
});

test.run();
