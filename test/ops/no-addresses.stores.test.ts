/**
 * No address of a client is at rest: after votes, views, logins and refused requests from known addresses
 * none is in the files of either kind of stores, in a dump, an export, a backup or the log.
 */
import { lstatSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { openServerSql } from '../../storage/sql/server.ts';
import { directoryOf, fillDirectory, makeDataFolder, tokenOf } from '../support/directory.ts';
import { makeFolder } from '../support/folder.ts';
import { clientId, clientSecret, says, startPlainProvider } from '../support/login-provider.ts';
import { type StartedNode, startNode } from '../support/node-process.ts';
import { runOps } from '../support/ops-process.ts';
import { startPostgres } from '../support/postgres-server.ts';
import { startRedis } from '../support/redis-server.ts';
import { until } from '../support/until.ts';

const test = suite('no address at rest');
const folder = makeFolder('rollcall-addresses-');
const provider = await startPlainProvider();
const redis = await startRedis({ settings: ['rdbcompression no'] });
const postgres = await startPostgres();
test.after(async () => {
  await redis.dispose();
  await postgres.close();
  await provider.close();
});

/** No other part of a directory looks like these. */
const lastBytes = [77, 131, 89, 202, 173, 34, 251, 118];
const ipv4 = lastBytes.map((last, index) => `203.0.${113 + index}.${last}`);
const ipv6 = lastBytes.map((last, index) => `2001:db8:${(0x7a31 + index).toString(16)}:c4d9::${last}`);
const sizes = { users: 16, bots: 2, servers: 1, teams: 1, packs: 1 };
const settings = {
  TRUSTED_PROXIES: '127.0.0.1',
  LOG_LEVEL: 'debug',
  FLUSH_INTERVAL_MS: '60000',
  LOGIN_AUTHORIZE_URL: `${provider.url}/authorize`,
  LOGIN_TOKEN_URL: `${provider.url}/token`,
  LOGIN_PROFILE_URL: `${provider.url}/users/@me`,
  LOGIN_CLIENT_ID: clientId,
  LOGIN_CLIENT_SECRET: clientSecret,
  LOGIN_REDIRECT_URIS: 'https://example.org/login',
};

/* ------------------------------------------------------------------- scans */

interface Form {
  readonly address: string;
  readonly name: string;
  readonly bytes: Buffer;
}

const listIpv4Forms = (address: string): Form[] => {
  const bytes = Buffer.from(address.split('.').map(Number));
  return [
    { address, name: 'text', bytes: Buffer.from(address) },
    { address, name: 'hex', bytes: Buffer.from(bytes.toString('hex')) },
    { address, name: 'number', bytes: Buffer.from(String(bytes.readUInt32BE())) },
    { address, name: 'mapped', bytes: Buffer.concat([Buffer.from([0xff, 0xff]), bytes]) },
    { address, name: 'binary', bytes },
    { address, name: 'reversed', bytes: Buffer.from(bytes).reverse() },
  ];
};
/** By its /64: that is what is counted. */
const listIpv6Forms = (address: string): Form[] => {
  const groups = address.split(':').slice(0, 4);
  const hex = groups.map((group) => group.padStart(4, '0'));
  return [
    { address, name: 'text', bytes: Buffer.from(groups.join(':')) },
    { address, name: 'long text', bytes: Buffer.from(hex.join(':')) },
    { address, name: 'hex', bytes: Buffer.from(hex.join('')) },
    { address, name: 'binary', bytes: Buffer.from(hex.join(''), 'hex') },
  ];
};
const forms = [...ipv4.flatMap(listIpv4Forms), ...ipv6.flatMap(listIpv6Forms)];
/** Four bytes may stand somewhere by chance, those of all addresses do not. */
const isShort = ({ bytes }: Form): boolean => bytes.length === 4;

const listFiles = (path: string): readonly string[] =>
  lstatSync(path).isDirectory()
    ? readdirSync(path).flatMap((name) => listFiles(join(path, name)))
    : lstatSync(path).isFile()
      ? [path]
      : [];

/** Scans bytes by their names; each of `expected` must be somewhere: the scan sees what is there. */
const assertNone = (what: string, parts: ReadonlyMap<string, Buffer>, expected: readonly string[]): void => {
  const all = [...parts];
  for (const text of expected)
    assert.ok(
      all.some(([, bytes]) => bytes.includes(text)),
      `${what}: no ${text}`,
    );
  const found = forms.flatMap((form) =>
    all.filter(([, bytes]) => bytes.includes(form.bytes)).map(([name]) => ({ form, name })),
  );
  const named = found
    .filter(({ form }) => !isShort(form))
    .map(({ form, name }) => `${form.address} ${form.name} in ${name}`);
  assert.equal(named, [], what);
  const short = new Set(found.filter(({ form }) => isShort(form)).map(({ form }) => form.address));
  assert.ok(short.size < ipv4.length / 2, `${what}: ${[...short]} in binary`);
};
const readFiles = (path: string): ReadonlyMap<string, Buffer> =>
  new Map(listFiles(path).map((file) => [file, readFileSync(file)]));

/* ----------------------------------------------------------------- traffic */

const [bot = ''] = directoryOf(sizes).bots;

const send = (url: string, address: string, init: RequestInit = {}) =>
  fetch(url, { ...init, headers: { 'X-Forwarded-For': address, 'User-Agent': 'a scan', ...init.headers } });

const logIn = async (url: string, address: string): Promise<number> => {
  const path = `${url}/auth/login/chat-oauth2`;
  const { state } = (await (await send(path, address)).json()) as { state: string };
  const body = JSON.stringify({
    ...{ client_id: clientId, protocol: 'persepolis', redirect_uri: 'https://example.org/login' },
    ...{ scope: 'normal', state, code: `code of ${state.slice(0, 20)}` },
  });
  const headers = { 'content-type': 'application/json' };
  return (await send(path, address, { method: 'POST', headers, body })).status;
};

/** Each address votes, views a page, logs in, and is refused for several reasons. */
const visitFromAll = async ({ url }: StartedNode, users: readonly string[]): Promise<void> => {
  provider.profile = says(200, { id: '728871946456137770', username: 'robin' });
  for (const [index, address] of [...ipv4, ...ipv6].entries()) {
    const user = users[index] ?? '';
    const vote = `${url}/users/${user}/bots/${bot}/votes?upvote=true`;
    const init = { method: 'PUT', headers: { 'User-Auth': tokenOf('user', user) } };
    const wrong = { method: 'PUT', headers: { 'User-Auth': 'nothing of ours' } };
    const { status } = await send(vote, address, init);
    const others = [
      await send(vote, address, init),
      await send(vote, address, wrong),
      await send(`${url}/bots/${bot}?target=page`, address),
      await send(`${url}/no/such/path`, address),
    ];
    assert.equal(
      [status, ...others.map((reply) => reply.status), await logIn(url, address)],
      [204, 429, 401, 200, 404, 200],
    );
  }
};

test('embedded stores: their files, an export, a backup, what it restores, and the log', async () => {
  const dataDir = join(folder, 'embedded');
  const { users } = await makeDataFolder(dataDir, sizes);
  const node = await startNode({ dataDir, settings });
  await visitFromAll(node, users);
  await node.kill();
  assertNone('files before the flush', readFiles(dataDir), [users[0] ?? '']);

  const next = await startNode({ dataDir, settings: { ...settings, FLUSH_INTERVAL_MS: '100' } });
  await next.stop();
  assertNone('files after the flush', readFiles(dataDir), [users[0] ?? '']);
  const logs = new Map([node, next].map((each, index) => [`log ${index}`, Buffer.from(each.output())]));
  assertNone('log', logs, []);

  const [backup, restored, dump] = ['backup', 'restored', 'dump'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  for (const [folderOf, args] of [
    [dataDir, ['backup', backup]],
    [restored, ['restore', backup]],
    [dataDir, ['export', dump]],
  ] as const) {
    const { code, err } = await runOps(folderOf, args);
    assert.is(code, 0, err);
  }
  for (const path of [backup, restored, dump]) assertNone(path, readFiles(path), [users[0] ?? '']);
});

test('servers: the dump and the log of Redis, files and a dump of Postgres, and the log', async () => {
  const servers = { REDIS_URL: redis.url, DATABASE_URL: await postgres.database('addresses') };
  const { sql, close } = await openServerSql(servers.DATABASE_URL);
  const { users } = await fillDirectory(sql, sizes);
  const node = await startNode({ dataDir: join(folder, 'servers'), settings: { ...settings, ...servers } });
  await visitFromAll(node, users);
  await node.kill();
  const client = new Redis(redis.url);
  await client.save();
  client.disconnect();
  assertNone('Redis before the flush', readFiles(redis.folder), [users[0] ?? '']);

  const flushing = { ...settings, ...servers, FLUSH_INTERVAL_MS: '100' };
  const next = await startNode({ dataDir: join(folder, 'servers'), settings: flushing });
  await until('all votes are in SQL', async () => (await sql`select from vote_origins`).length === 16);
  await next.stop();
  await sql`checkpoint`;
  assertNone('Postgres', readFiles(join(postgres.folder, 'data')), [users[0] ?? '']);
  const logs = new Map([node, next].map((each, index) => [`log ${index}`, Buffer.from(each.output())]));
  assertNone('log', logs, []);
  await close();
});

test.run();
