/**
 * The composition root: a node starts, accepts its demo tokens, and stops without leaving a lock.
 */
import { once } from 'node:events';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { readConfig } from '../../ops/config/config.ts';
import { createLogger } from '../../ops/log/log.ts';
import { start } from '../../ops/rollcall.ts';
import { refusal } from '../engine/kit.ts';
import { makeFolder } from '../support/folder.ts';
import { openWorld } from '../world.ts';

const test = suite('rollcall');

const world = await openWorld();
test.after(() => world.close());

test('the demo tokens post stats and vote, and any client reads the totals', async () => {
  const { url, demo } = world;
  const posted = await fetch(`${url}/bots/stats`, {
    method: 'POST',
    headers: { 'Bot-Auth': demo.bot.token },
    body: '{"servers":18446744073709551557}',
  });
  const voted = await fetch(`${url}/users/${demo.user.id}/bots/${demo.bot.id}/votes?upvote=true`, {
    method: 'PUT',
    headers: { 'User-Auth': demo.user.token },
  });
  const bot = await (await fetch(`${url}/bots/${demo.bot.id}`)).text();

  assert.is(posted.status, 200);
  assert.is(voted.status, 204);
  assert.match(bot, '"servers":18446744073709551557,');
});

test('the demo tokens redeem votes as credits, and there is a shop', async () => {
  const { url, demo } = world;
  const parseJson = async (response: Response): Promise<ReturnType<typeof JSON.parse>> => response.json();
  const read = async (path: string) => parseJson(await fetch(`${url}${path}`));
  for (const [target, headers] of [
    [`bots/${demo.bot.id}`, { 'Bot-Auth': demo.bot.token }],
    [`bots/${demo.bot.id}`, { 'Team-Auth': demo.team.token }],
    [`servers/${demo.server.id}`, { 'Server-Auth': demo.server.token }],
    [`servers/${demo.server.id}`, { 'User-Auth': demo.user.token }],
  ] as const) {
    const value = await read(`/${target}/votes/credit-tiers`);
    assert.ok(value.tiers.length > 1 && value.total_credits > 0, JSON.stringify(value));
    const before = await read(`/${target}/votes/credits`);
    const redeemed = await fetch(`${url}/${target}/votes/credits?votes=2`, { method: 'POST', headers });
    const { context } = await parseJson(redeemed);
    const after = await read(`/${target}/votes/credits`);

    assert.is(redeemed.status, 200, JSON.stringify(context));
    assert.is(after.available_credits - before.available_credits, Number(context.credits));
    assert.ok(Number(context.credits) > 0);
  }
  const { items } = await read('/shop/items');
  const { items: benefits } = await read('/shop/item-benefits');
  const { items: coupons } = await read('/shop/public-coupons');
  assert.equal([items.length, benefits.length, coupons.length], [2, 1, 1]);
});

test('demo.json has the addresses of this node, and only its owner can read it', () => {
  const path = join(world.dataDir, 'demo.json');

  assert.is(statSync(path).mode & 0o777, 0o600);
  assert.is(world.demo.url, world.url);
  assert.is(world.demo.admin_url, world.adminUrl);
});

test('a node stops, also twice, and unlocks its folder', async () => {
  const other = await openWorld();

  await other.stop();
  await other.stop();

  assert.not(existsSync(join(other.dataDir, 'lock')));
  await other.close();
});

test('a stop says what the hot store did not confirm: page views that it refused', async () => {
  const lines: string[] = [];
  let isRefusing = false;
  const other = await openWorld({
    settings: { DRAIN_MS: '300' },
    hooks: {
      logger: createLogger({ level: 'warn', form: 'text' }, (line) => lines.push(line)),
      hot: (hot) => ({
        ...hot,
        commit: (batches, rules) => (isRefusing ? Promise.reject(refusal()) : hot.commit(batches, rules)),
      }),
    },
  });
  const page = `${other.url}/bots/${other.demo.bot.id}`;
  await fetch(page);
  isRefusing = true;
  const viewed = await fetch(`${page}?target=page`);

  await other.stop();

  assert.is(viewed.status, 200);
  assert.match(lines.join(''), / warn .*did not confirm some changes.* unconfirmed=1/);
});

const { port: takenPort } = new URL(world.url);
const { port: takenAdminPort } = new URL(world.adminUrl);
for (const ports of [
  { PORT: takenPort, ADMIN_PORT: '0' },
  { PORT: '0', ADMIN_PORT: takenPort },
  { PORT: takenPort, ADMIN_PORT: takenAdminPort },
]) {
  const taken = Object.entries(ports).filter(([, port]) => port !== '0');
  const names = taken.map(([name]) => name).join(' and ');
  test(`a start with a taken ${names} fails before it makes anything in its folder`, async () => {
    const dataDir = makeFolder('rollcall-taken-');
    try {
      await start(readConfig({ DATA_DIR: dataDir, DEMO: 'on', LOG_LEVEL: 'silent', ...ports }));
      assert.unreachable('a port is taken');
    } catch (error) {
      const lines = taken.map(
        ([name, port]) => `Port ${port} on .* is already in use.* choose another ${name}\\.`,
      );
      assert.match((error as Error).message, new RegExp(`^${lines.join('\n')}$`));
    }

    assert.equal(readdirSync(dataDir), []);
  });
}

test('a start waits for a port of a node that is ending', async () => {
  const ending = createServer().listen(0, '127.0.0.1');
  await once(ending, 'listening');
  const { port } = ending.address() as AddressInfo;
  const dataDir = makeFolder('rollcall-ending-');
  const starting = start(
    readConfig({ DATA_DIR: dataDir, DEMO: 'off', LOG_LEVEL: 'silent', PORT: '0', ADMIN_PORT: String(port) }),
  );
  setTimeout(() => ending.close(), 50);
  const node = await starting;
  await node.stop();

  assert.is(new URL(node.adminUrl).port, String(port));
});

test.run();
