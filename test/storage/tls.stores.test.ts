/**
 * TLS to both stores, which answer nothing without it: what the clients accept and refuse, and a node, its
 * commands, `pg_dump` and `pg_restore` that work.
 */
import { chownSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setDefaultCACertificates } from 'node:tls';
import { Redis } from 'ioredis';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { findFreePort } from '../../bench/shared/free-port.ts';
import { findPrograms } from '../../storage/backup/programs.ts';
import { createCluster } from '../../storage/nodes/ioredis-clients.ts';
import { openListener } from '../../storage/nodes/listener.ts';
import { connectSql } from '../../storage/sql/client.ts';
import { assertIncludes } from '../support/assert-includes.ts';
import { makeFolder } from '../support/folder.ts';
import { spawnNode, startNode } from '../support/node-process.ts';
import { runOps } from '../support/ops-process.ts';
import { startPostgres } from '../support/postgres-server.ts';
import { startRedis } from '../support/redis-server.ts';
import { until } from '../support/until.ts';
import { type Certificate, issueCertificate } from '../support/webhook-receivers.ts';

const test = suite('TLS to the stores');
const folder = makeFolder('rollcall-tls-');

const issuer = await issueCertificate({ name: 'authority of the test' });
const next = await issueCertificate({ name: 'next authority of the test' });
const certificates = {
  localhost: await issueCertificate({ name: 'localhost', issuer }),
  withoutAddress: await issueCertificate({ name: 'localhost', issuer, addresses: [] }),
  elsewhere: await issueCertificate({ name: 'elsewhere.example', issuer }),
  ended: await issueCertificate({ name: 'localhost', issuer, notAfterDate: new Date('2021-01-01') }),
  renewed: await issueCertificate({ name: 'localhost', issuer }),
  replaced: await issueCertificate({ name: 'localhost', issuer: next }),
};
const writePem = (name: string, text: string): string => {
  const path = join(folder, `${name}.pem`);
  writeFileSync(path, text);
  return path;
};
const authority = writePem('authority', issuer.cert);
const stranger = writePem('stranger', (await issueCertificate({ name: 'another authority' })).cert);
const empty = writePem('empty', '');

const postgres = await startPostgres();
const setUp = connectSql(await postgres.database('tls'), { connectionsMax: 1 });
await postgres.database('restored');
const data = join(postgres.folder, 'data');

/** Gives Postgres another certificate; new connections get it when this resolves. */
const usePostgres = async ({ cert, key }: Certificate): Promise<void> => {
  const { uid, gid } = statSync(data);
  for (const [name, text] of [
    ['server.crt', cert],
    ['server.key', key],
  ] as const) {
    writeFileSync(join(data, name), text, { mode: 0o600 });
    chownSync(join(data, name), uid, gid);
  }
  const countReloads = () => postgres.log().split('reloading configuration files').length;
  const before = countReloads();
  process.kill(postgres.pid(), 'SIGHUP');
  await until('Postgres has reloaded', async () => countReloads() > before);
};

await setUp`alter system set ssl = on`;
await setUp.end();
writeFileSync(join(data, 'pg_hba.conf'), 'hostssl all all 127.0.0.1/32 trust\n');
await usePostgres(certificates.localhost);

const pemsOf = (name: keyof typeof certificates): readonly string[] => {
  const { cert, key } = certificates[name];
  return [`tls-cert-file ${writePem(name, cert)}`, `tls-key-file ${writePem(`${name}-key`, key)}`];
};

/** Starts a Redis that listens with TLS alone. */
const startTlsRedis = async (certificate: keyof typeof certificates, settings: readonly string[] = []) => {
  const port = await findFreePort();
  const tls = [`tls-port ${port}`, `tls-ca-cert-file ${authority}`, 'tls-auth-clients no'];
  const server = await startRedis({ settings: [...tls, ...pemsOf(certificate), ...settings] });
  const admin = new Redis(server.url);
  if (settings.length > 0) await admin.call('CLUSTER', 'ADDSLOTSRANGE', 0, 16_383);
  await admin.config('SET', 'port', '0');
  admin.disconnect();
  return { url: `rediss://localhost:${port}`, dispose: server.dispose };
};

/** Gives Redis another certificate, and ends the connections that were made with the one before. */
const useRedis = async (name: keyof typeof certificates, trusted: Certificate): Promise<void> => {
  const admin = new Redis(redis.url, { tls: { ca: trusted.cert } });
  await admin.call('CONFIG', 'SET', ...pemsOf(name).flatMap((line) => line.split(' ')));
  await admin.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
  await admin.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
  admin.disconnect();
};

/** Ends all connections of nodes to Postgres. */
const endSessions = async (trusted: string): Promise<void> => {
  const sql = connectSql(addressOf(trusting('verify-full', trusted)), { connectionsMax: 1 });
  await sql`
    select pg_terminate_backend(pid) from pg_stat_activity
    where pid <> pg_backend_pid() and backend_type = 'client backend'`;
  await sql.end();
};

const [redis, ended, cluster] = await Promise.all([
  startTlsRedis('localhost'),
  startTlsRedis('ended'),
  startTlsRedis('withoutAddress', [
    'cluster-enabled yes',
    `cluster-port ${await findFreePort()}`,
    'tls-cluster yes',
    'cluster-announce-hostname localhost',
    'cluster-preferred-endpoint-type hostname',
  ]),
]);
test.after(async () => {
  await Promise.all([postgres.close(), redis.dispose(), ended.dispose(), cluster.dispose()]);
});

const addressOf = (query: string, host = 'localhost', database = 'tls'): string =>
  `postgres://rollcall@${host}:${postgres.port}/${database}?${query}`;

/** Connects. Resolves to `encrypted`, or to the code of what refused it. */
const connect = async (query: string, host?: string): Promise<string> => {
  const sql = connectSql(addressOf(query, host), { connectionsMax: 1 });
  try {
    const [row] = await sql<{ ssl: boolean }[]>`
      select ssl from pg_stat_ssl where pid = pg_backend_pid()`;
    return row?.ssl ? 'encrypted' : 'plain';
  } catch (error) {
    return (error as { code: string }).code;
  } finally {
    await sql.end({ timeout: 0 });
  }
};

const [leaf, otherName] = ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'ERR_TLS_CERT_ALTNAME_INVALID'];
const trusting = (mode: string, file = authority) => `sslmode=${mode}&sslrootcert=${file}`;

test('Postgres: each sslmode verifies what libpq verifies with it', async () => {
  const results: Record<string, string> = {};
  const expected: Record<string, string> = {};
  for (const [name, query, result, host] of [
    ['localhost', '', '28000'],
    ['localhost', 'sslmode=disable', '28000'],
    ['localhost', 'sslmode=prefer', 'encrypted'],
    ['localhost', 'sslmode=require', 'encrypted'],
    ['localhost', trusting('require', stranger), leaf],
    ['localhost', 'sslmode=verify-ca', leaf],
    ['localhost', 'sslmode=verify-full', leaf],
    ['localhost', trusting('verify-full', stranger), leaf],
    ['localhost', trusting('verify-full', empty), leaf],
    ['localhost', trusting('verify-full'), 'encrypted'],
    ['localhost', trusting('verify-full'), 'encrypted', '127.0.0.1'],
    ['withoutAddress', trusting('verify-full'), 'encrypted'],
    ['withoutAddress', trusting('verify-full'), otherName, '127.0.0.1'],
    ['withoutAddress', trusting('verify-ca'), 'encrypted', '127.0.0.1'],
    ['elsewhere', trusting('verify-full'), otherName],
    ['elsewhere', trusting('verify-ca'), 'encrypted'],
    ['elsewhere', trusting('require'), 'encrypted'],
    ['ended', trusting('verify-full'), 'CERT_HAS_EXPIRED'],
    ['ended', trusting('verify-ca'), 'CERT_HAS_EXPIRED'],
    ['ended', 'sslmode=require', 'encrypted'],
  ] as const) {
    const key = `${name} at ${host ?? 'localhost'}: ${query}`;
    await usePostgres(certificates[name]);
    expected[key] = result;
    results[key] = await connect(query, host);
  }
  await usePostgres(certificates.localhost);

  assert.equal(results, expected);
});

const settings = {
  REDIS_URL: redis.url,
  DATABASE_URL: addressOf('sslmode=verify-full'),
  PGSSLROOTCERT: authority,
  NODE_EXTRA_CA_CERTS: authority,
  ADMIN_TOKEN: 'x'.repeat(40),
};
const dataDir = join(folder, 'data');

test('a node, a backup and a restore verify both stores', async () => {
  const node = await startNode({ dataDir, settings });
  const reply = await fetch(`${node.adminUrl}/readyz`);
  const backup = join(folder, 'backup');
  const saved = await runOps(dataDir, ['backup', backup], { settings });
  await node.stop();
  const restored = await runOps(dataDir, ['restore', backup], {
    settings: { ...settings, DATABASE_URL: addressOf('sslmode=verify-full', 'localhost', 'restored') },
  });

  assert.equal([reply.status, saved.code, restored.code], [200, 0, 0], saved.output + restored.output);
  assertIncludes(readdirSync(backup), 'database.dump');
  assert.not.match(node.output(), /certificate|Redis is/);
});

/** Whether a node reaches both stores: Redis for the note, Postgres for the operator's list. */
const readsBoth = async (adminUrl: string): Promise<boolean> => {
  const headers = { authorization: `Bearer ${settings.ADMIN_TOKEN}` };
  const [ready, listed] = await Promise.all([
    fetch(`${adminUrl}/readyz`),
    fetch(`${adminUrl}/dead-letters`, { headers }),
  ]);
  const text = await ready.text();
  return ready.status === 200 && listed.status === 200 && !/_away|pubsub_fails/.test(text);
};

test('certificates are renewed, and the authority is replaced, under a node that trusts both', async () => {
  const trustsBoth = writePem('both', `${issuer.cert}\n${next.cert}`);
  const both = { PGSSLROOTCERT: trustsBoth, NODE_EXTRA_CA_CERTS: trustsBoth };
  const node = await startNode({ dataDir: join(folder, 'renewed'), settings: { ...settings, ...both } });
  for (const [name, by] of [
    ['renewed', issuer],
    ['replaced', next],
  ] as const) {
    await usePostgres(certificates[name]);
    await useRedis(name, issuer);
    await endSessions(trustsBoth);
    await until(`the node has ${name} certificates`, () => readsBoth(node.adminUrl));
    assert.is(await connect(trusting('verify-full', writePem(`by-${name}`, by.cert))), 'encrypted');
  }
  await node.stop();

  // A node that trusts the former authority alone says so, and starts with the file that has the new one.
  const former = spawnNode({ dataDir: join(folder, 'renewed'), settings });
  assert.is((await former.exited).code, 1);
  assert.match(former.output(), /_URL: .*certificate|is refused/);
  const restarted = await startNode({ dataDir: join(folder, 'renewed'), settings: { ...settings, ...both } });
  assert.ok(await readsBoth(restarted.adminUrl));
  await restarted.stop();
  await usePostgres(certificates.localhost);
  await useRedis('localhost', next);
});

test('pg_dump refuses a server that is not by the named authority', async () => {
  const { dump } = findPrograms(addressOf(trusting('verify-full', stranger)), 15);

  assert.match(
    await dump(join(folder, 'refused.dump'), {}).then(String, String),
    /certificate verify failed/,
  );
});

for (const [what, wrong, message] of [
  ['Redis by an authority that is not named', { NODE_EXTRA_CA_CERTS: stranger }, /REDIS_URL: .*is refused/],
  ['Redis with an ended certificate', { REDIS_URL: ended.url }, /REDIS_URL: .*has ended. Renew it/],
  [
    'Postgres by another authority',
    { PGSSLROOTCERT: stranger },
    /DATABASE_URL: .*is refused\. See docs.operators.tls\.md/,
  ],
  [
    'a certificate of the node that cannot be read',
    { PGSSLCERT: empty, PGSSLKEY: empty },
    /DATABASE_URL: .*sslcert and sslkey, or sslrootcert, name files that cannot be used/,
  ],
  [
    'a Postgres that only takes TLS',
    { DATABASE_URL: addressOf('sslmode=disable'), PGSSLROOTCERT: '' },
    /DATABASE_URL: .*or it wants TLS\. .*no encryption/,
  ],
] as const) {
  test(`a start with ${what} ends with what to do`, async () => {
    const node = spawnNode({ dataDir, settings: { ...settings, ...wrong } });

    assert.equal([(await node.exited).code], [1]);
    assert.match(node.output(), message);
  });
}

test('a Cluster whose certificate has only names: commands, and messages between nodes', async () => {
  setDefaultCACertificates([issuer.cert]);
  const urls = [cluster.url, cluster.url];
  const received: string[] = [];
  const failures = new Set<string>();
  const onFailure = (error: Error): void => void failures.add(error.message);
  const commands = createCluster(urls, {});
  commands.on('node error', onFailure);
  const listener = openListener({
    urls,
    channels: ['news'],
    onMessage: (text) => received.push(text),
    onChanged: () => {},
    onLost: onFailure,
  });
  try {
    await commands.connect();
    await until('a message arrives', async () => {
      await commands.publish('news', 'hello');
      return received.length > 0;
    });
    assert.is(received[0], 'hello');
  } finally {
    commands.disconnect();
    listener.close();
  }
  assert.equal([...failures], []);
});

test.run();
