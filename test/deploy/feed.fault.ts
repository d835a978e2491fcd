/**
 * The feed through the shipped HAProxy and nginx configurations with the real programs: event streams and
 * WebSockets get through at once, and stay open for longer than the proxies wait for other replies.
 */
import { setTimeout as pause } from 'node:timers/promises';
import * as assert from 'uvu/assert';
import { findFreePort } from '../../bench/shared/free-port.ts';
import { type FeedClient, openSocket, openStream } from '../http/feed/clients.ts';
import { findHaproxy, type Haproxy, startHaproxy } from '../support/haproxy.ts';
import { createSuiteNeeding } from '../support/needing-suite.ts';
import { findNginx, type Nginx, startNginx } from '../support/nginx.ts';
import { openWorld, type World } from '../world.ts';

const test = createSuiteNeeding('feed through proxies', () => {
  findHaproxy();
  return findNginx();
});
let world: World;
let haproxy: Haproxy;
let nginx: Nginx;
const urls: string[] = [];

test.before(async () => {
  world = await openWorld({ settings: { TRUSTED_PROXIES: '127.0.0.1' } });
  const [port, nginxPort] = [await findFreePort(), await findFreePort()];
  const node = `127.0.0.1:${new URL(world.url).port}`;
  const admin = new URL(world.adminUrl).port;
  const env = {
    ...Object.fromEntries([1, 2, 3].map((number) => [`ROLLCALL_NODE_${number}`, node])),
    ...Object.fromEntries([1, 2, 3].map((number) => [`ROLLCALL_ADMIN_PORT_${number}`, admin])),
    ROLLCALL_BIND: `127.0.0.1:${port}`,
    ROLLCALL_CONNECTIONS_MAX: '100',
  };
  haproxy = await startHaproxy(['haproxy.cfg'], env, port);
  nginx = await startNginx({ port: nginxPort, nodePort: Number(new URL(world.url).port) });
  urls.push(`http://127.0.0.1:${port}`, `http://127.0.0.1:${nginxPort}`);
});
test.after(async () => {
  await haproxy?.dispose();
  await nginx?.dispose();
  await world?.close();
});

const post = async (servers: number): Promise<void> => {
  const { bot } = world.demo;
  const headers = { authorization: `Bot ${bot.token}` };
  const body = JSON.stringify({ servers });
  const { status } = await fetch(`${world.url}/bots/stats`, { method: 'POST', headers, body });
  assert.is(status, 200);
};

const openAll = async (): Promise<FeedClient[]> => {
  const query = `targets=bot/${world.demo.bot.id}`;
  return Promise.all(urls.flatMap((url) => [openStream(url, query), openSocket(url, query)]));
};

/** Longer than the time-outs of both proxies. */
const silenceMs = 100_000;

test('each gets the change, also after a silence that is longer than the time-outs', async () => {
  const clients = await openAll();
  await Promise.all(clients.map((client) => client.next('totals')));
  await post(4_001);
  await Promise.all(clients.map((client) => client.find(({ data }) => data.totals?.servers === 4_001)));
  await pause(silenceMs);
  await post(4_002);
  await Promise.all(clients.map((client) => client.find(({ data }) => data.totals?.servers === 4_002)));

  assert.is(clients.length, 4);
  for (const client of clients) client.close();
});

test('a refusal comes through as it is', async () => {
  for (const url of urls) {
    const response = await fetch(`${url}/feed?targets=bot/nope`);
    assert.is(response.status, 404);
  }
});

test.run();
