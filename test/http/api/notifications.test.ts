/**
 * The routes of push subscriptions against a complete Rollcall. test/http/outbound and test/ops/jobs
 * test what is sent.
 */
import { createECDH, randomBytes } from 'node:crypto';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { addUser } from '../../storage/catalogue/directory.ts';
import { openWorld } from './world.ts';

const test = suite('routes of notifications');
let endpoints = 0;

test.after(() => world.close());

const addresses: Record<string, readonly string[]> = {
  'push.example.org': ['93.184.215.14', '2606:2800:21f:cb07:6820:80da:af6b:8b2c'],
  'inside.example.org': ['93.184.215.14', '10.0.0.1'],
};

const world = await openWorld({ push: { reach: 'public', resolve: async (host) => addresses[host] ?? [] } });

const newKeys = () => ({
  auth: randomBytes(16).toString('base64url'),
  p256dh: createECDH('prime256v1').generateKeys('base64url'),
});
const newEndpoint = (): string => `https://push.example.org/${++endpoints}`;
const newUser = async (user: string): Promise<string> => {
  await addUser(world.sql, user);
  return world.token('user', user);
};
interface Browser {
  readonly token: string;
  readonly user: string;
  readonly userAgent?: string;
}
const post = ({ token, user, userAgent = '' }: Browser, fields: Record<string, unknown> = {}) =>
  world.ask('POST', `/users/${user}/notifications`, {
    token,
    headers: { 'user-agent': userAgent },
    body: { endpoint: newEndpoint(), ...newKeys(), ...fields },
  });
const list = async ({ token, user }: Browser) =>
  (await world.ask('GET', `/users/${user}/notifications`, { token })).json.notifications;

test('GET /users/notifications/info → 200 with a public key of P-256, without a token', async () => {
  const { status, json } = await world.ask('GET', '/users/notifications/info');

  assert.is(status, 200);
  assert.is(Buffer.from(json.public_key, 'base64url').length, 65);
});

test('POST /users/:id/notifications → 204, listed with the browser and without its keys', async () => {
  const robin = { user: 'robin', token: await newUser('robin') };
  const keys = newKeys();
  const userAgent =
    'Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 (KHTML, like Gecko) ' +
    'Chrome/126.0.6478.122 Mobile Safari/537.36';
  assert.is((await post({ ...robin, userAgent }, keys)).status, 204);
  assert.is((await post({ ...robin, userAgent: 'x'.repeat(3_000) }, newKeys())).status, 204);
  const [phone, other] = await list(robin);

  assert.equal(phone.browser_info, {
    browser: 'Chrome',
    browser_ver: '126.0.6478.122',
    mobile: true,
    os: 'Android',
  });
  assert.match(phone.endpoint, /^https:\/\/push\.example\.org\/\d+$/);
  assert.equal([other.browser_info.mobile, other.browser_info.os], [false, '']);
  const text = JSON.stringify([phone, other]);
  assert.not.ok(text.includes(keys.auth) || text.includes(keys.p256dh));
});

test('POST /users/:id/notifications → 204 for a User-Agent that is cut within a character', async () => {
  const grebe = { user: 'grebe', token: await newUser('grebe') };
  const userAgent = Buffer.from(`${'a'.repeat(63)}🦉/1 x`).toString('latin1');

  assert.is((await post({ ...grebe, userAgent })).status, 204);
  assert.is((await list(grebe))[0].browser_info.browser, `${'a'.repeat(63)}🦉`);
});

test('POST /users/:id/notifications → 204 for a known endpoint, which moves to its last user', async () => {
  const wren = { user: 'wren', token: await newUser('wren') };
  const finch = { user: 'finch', token: await newUser('finch') };
  const endpoint = newEndpoint();
  await post(wren, { endpoint });
  await post(wren, { endpoint });
  const [first, ...rest] = await list(wren);
  assert.equal(rest, []);

  assert.is((await post(finch, { endpoint })).status, 204);

  assert.equal(await list(wren), []);
  const [moved] = await list(finch);
  assert.is(moved.endpoint, endpoint);
  assert.is.not(moved.notif_id, first.notif_id);
});

test('POST /users/:id/notifications → 409 beyond the cap, but for an endpoint one has', async () => {
  const many = { user: 'many', token: await newUser('many') };
  const endpoint = newEndpoint();
  const statuses = await Promise.all([1, 2, 3, 4].map(async () => (await post(many)).status));
  assert.equal(statuses.sort(), [204, 204, 204, 409]);

  const refused = await post(many, { endpoint });
  const [one] = await list(many);

  assert.is(refused.json.context.code, 'limit_reached');
  assert.is((await post(many, { endpoint: one.endpoint })).status, 204);
});

test('POST /users/:id/notifications → 400 for bad keys and endpoints that lead inside', async () => {
  const crane = { user: 'crane', token: await newUser('crane') };
  const base64 = (bytes: number, first = 4) =>
    Buffer.concat([Buffer.of(first), Buffer.alloc(bytes - 1, 1)]).toString('base64url');
  for (const [field, value] of [
    ['auth', randomBytes(15).toString('base64url')],
    ['auth', randomBytes(17).toString('base64url')],
    ['auth', `+/${'a'.repeat(20)}`],
    ['auth', undefined],
    ['p256dh', base64(64)],
    ['p256dh', base64(66)],
    ['p256dh', base64(65)],
    ['p256dh', base64(65, 5)],
    ['endpoint', 'push.example.org'],
    ['endpoint', 'http://push.example.org/1'],
    ['endpoint', 'https://push.example.org:8443/1'],
    ['endpoint', 'https://user@push.example.org/1'],
    ['endpoint', 'https://127.0.0.1/1'],
    ['endpoint', 'https://0x7f.1/1'],
    ['endpoint', 'https://[::ffff:10.0.0.1]/1'],
    ['endpoint', 'https://inside.example.org/1'],
    ['endpoint', 'https://nowhere.example.org/1'],
    ['endpoint', `https://push.example.org/${'x'.repeat(1_024)}`],
    ['endpoint', 7],
  ] as const) {
    const { status, json } = await post(crane, { [field]: value });
    assert.is(status, 400, `${field} ${value}`);
    assert.ok(`/${field}` in json.context, JSON.stringify(json));
  }
  assert.equal(await list(crane), []);
});

test('DELETE /users/:id/notification → 204, then 404; 400 without a proper id', async () => {
  const heron = { user: 'heron', token: await newUser('heron') };
  const swift = await newUser('swift');
  await post(heron);
  const [{ notif_id: id }] = await list(heron);
  const remove = async (query: string, { user, token } = heron) =>
    (await world.ask('DELETE', `/users/${user}/notification${query}`, { token })).status;

  assert.is(await remove(`?notif_id=${id}`, { user: 'swift', token: swift }), 404);
  assert.is(await remove(`?notif_id=${id}`), 204);
  assert.is(await remove(`?notif_id=${id}`), 404);
  assert.is(await remove(''), 400);
  assert.is(await remove('?notif_id=1'), 400);
  assert.is(await remove(`?notif_id=urn:uuid:${id}`), 400);
});

test.run();
