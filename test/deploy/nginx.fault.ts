/**
 * The shipped nginx configuration with the real nginx, in front of a real node: the requests that a node
 * gets, which replies are cached, and the limits.
 *
 * For the requests that a node gets, a small server takes its place and answers with what it received.
 */
import { existsSync, rmSync } from 'node:fs';
import { createServer, request } from 'node:http';
import * as assert from 'uvu/assert';
import { findFreePort } from '../../bench/shared/free-port.ts';
import { routes } from '../../http/api/table.ts';
import { close, listen } from '../support/loopback.ts';
import { createSuiteNeeding } from '../support/needing-suite.ts';
import { checkSample, findNginx, type Nginx, startNginx } from '../support/nginx.ts';
import { until } from '../support/until.ts';
import { openWorld, type World } from '../world.ts';

const test = createSuiteNeeding('nginx', findNginx);
let world: World;
let nginx: Nginx;
let url = '';

test.before(async () => {
  world = await openWorld({ settings: { TRUSTED_PROXIES: '127.0.0.1' } });
  const port = await findFreePort();
  nginx = await startNginx({ port, nodePort: Number(new URL(world.url).port) });
  url = `http://127.0.0.1:${port}`;
});
test.after(async () => {
  await nginx.dispose();
  await world.close();
});

interface ReceivedRequest {
  readonly version: string;
  readonly connection: string | null;
  readonly host: string;
  readonly forwardedFor: string;
  readonly peerPort: number;
}

/** Runs `task` with nginx in front of a server that answers with the request it received. */
const withEchoServer = async (task: (url: string) => Promise<void>): Promise<void> => {
  const server = createServer(({ headers, httpVersion, socket }, response) => {
    const received: ReceivedRequest = {
      version: httpVersion,
      connection: headers.connection ?? null,
      host: headers.host ?? '',
      forwardedFor: String(headers['x-forwarded-for'] ?? ''),
      peerPort: socket.remotePort ?? 0,
    };
    response.end(JSON.stringify(received));
  });
  const port = await findFreePort();
  const proxy = await startNginx({ port, nodePort: await listen(server) });
  try {
    await task(`http://127.0.0.1:${port}`);
  } finally {
    await proxy.dispose();
    await close(server);
  }
};

/** The number of replies of the node for this operation. */
const countReplies = async (operation: string): Promise<number> => {
  const metrics = await (await fetch(`${world.adminUrl}/metrics`)).text();
  const lines = metrics.split('\n').filter((line) => line.startsWith('rollcall_http_requests_total{'));
  return lines
    .filter((line) => line.includes(`"${operation}"`))
    .reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
};

/** Sends a request from this loopback address, which nginx takes for the client's address. */
const askFrom = (localAddress: string, path: string, headers: Record<string, string>): Promise<void> =>
  new Promise((resolve, reject) => {
    const outgoing = request(`${url}${path}`, { localAddress, headers, agent: false }, (response) => {
      response.resume().on('end', resolve);
    });
    outgoing.on('error', reject).end();
  });

test('nginx accepts the configuration without a warning', () => {
  assert.is(nginx.complaints, '');
});

test('nginx accepts the sample as it is, on a system where no folder was made for it', () => {
  const folder = '/var/cache/rollcall-nginx';
  const existed = existsSync(folder);
  if (process.getuid?.() !== 0) return console.log('\nskipped: the sample as it is: nginx starts as root');
  assert.is(checkSample(), '');
  if (!existed) rmSync(folder, { recursive: true, force: true });
});

test('stats, votes and reads reach the node and are counted', async () => {
  const { bot, user } = world.demo;
  const posted = await fetch(`${url}/bots/stats`, {
    method: 'POST',
    headers: { 'Bot-Auth': bot.token },
    body: '{"servers":4321}',
  });
  const voted = await fetch(`${url}/users/${user.id}/bots/${bot.id}/votes?upvote=true`, {
    method: 'PUT',
    headers: { 'User-Auth': user.token },
  });
  const read = await fetch(`${url}/bots/${bot.id}`);
  const tag = read.headers.get('etag') ?? '';

  assert.equal([posted.status, voted.status, read.status], [200, 204, 200]);
  assert.match(await read.text(), '"servers":4321,');
  const again = await fetch(`${url}/bots/${bot.id}`, { headers: { 'If-None-Match': tag } });
  assert.is(again.status, 304);
});

test('bytes above 0x7F are refused in headers that must be ASCII, also at the ends', async () => {
  const { bot, user } = world.demo;
  const send = async (path: string, init: RequestInit) => {
    const reply = await fetch(`${url}${path}`, init);
    if (reply.status < 400) return String(reply.status);
    const { context } = (await reply.json()) as { context: object };
    return `${reply.status} ${Object.keys(context)}`;
  };
  const post = (headers: Record<string, string>) =>
    send('/bots/stats', { method: 'POST', headers, body: '{"servers":1}' });
  const create = (key: string) => {
    const headers = { 'User-Auth': user.token, 'Idempotency-Key': key };
    return send('/teams', { method: 'POST', headers, body: '{"name":"Behind nginx"}' });
  };
  const vote = (proof: string) => {
    const headers = { 'User-Auth': user.token, 'X-Vote-Proof': proof };
    return send(`/users/${user.id}/bots/${bot.id}/votes?upvote=true`, { method: 'PUT', headers });
  };
  for (const byte of ['\xe4', '\xc3\xa4', '\xa0', '\xff']) {
    for (const odd of [`${byte}a`, `a${byte}a`, `a${byte}`, byte]) {
      assert.is(await create(odd), '400 Idempotency-Key,code,request_id');
      assert.is(await vote(odd), '400 X-Vote-Proof,code,request_id');
    }
    for (const header of ['Authorization', 'Bot-Auth', 'User-Auth', 'Server-Auth', 'Team-Auth']) {
      assert.match(await post({ [header]: `${bot.token}${byte}` }), /^401 /, header);
      assert.is(await send(`/bots/${bot.id}`, { headers: { [header]: `${bot.token}${byte}` } }), '200');
    }
    assert.is(await post({ 'Bot-Auth': bot.token, 'User-Agent': `M${byte}ller`, 'X-Other': byte }), '200');
  }
  assert.is(await create('order-7'), '201');
});

test('without the setting for HTTP/1.1 every answer is 505', async () => {
  const port = await findFreePort();
  const plain = await startNginx({
    port,
    nodePort: Number(new URL(world.url).port),
    change: (text) => text.replace('proxy_http_version 1.1;', ''),
  });
  try {
    assert.is((await fetch(`http://127.0.0.1:${port}/bots/@all`)).status, 505);
  } finally {
    await plain.dispose();
  }
});

test('a node gets HTTP/1.1 on reused connections, the host, and a client address set by nginx', async () => {
  await withEchoServer(async (proxied) => {
    const ask = async (): Promise<ReceivedRequest> => {
      const response = await fetch(`${proxied}/bots/1`, { headers: { 'X-Forwarded-For': '6.6.6.6' } });
      return (await response.json()) as ReceivedRequest;
    };
    const first = await ask();
    const second = await ask();

    const { host } = new URL(proxied);
    const { peerPort } = first;
    assert.equal(first, { version: '1.1', connection: null, host, forwardedFor: '127.0.0.1', peerPort });
    assert.is(second.peerPort, peerPort, 'the same connection');
  });
});

test('the node takes the address of the client only from nginx', async () => {
  const path = `/bots/${world.demo.bot.id}`;
  const readClicks = async () => {
    const bot = await (await fetch(`${world.url}${path}`)).json();
    return bot as { readonly clicks: number; readonly unique_clicks: number };
  };
  const before = await readClicks();
  const claims = ['6.6.6.1', '6.6.6.2', '6.6.6.3'].map((address) => ({ 'X-Forwarded-For': address }));
  for (const claim of claims) await askFrom('127.0.0.7', `${path}?target=page`, claim);
  for (const claim of claims) await askFrom('127.0.0.8', `${path}?target=page`, claim);
  await askFrom('127.0.0.8', path, {});
  // A click has no waiter: it is committed a little later.
  await until('all are counted', async () => (await readClicks()).clicks === before.clicks + 6);

  assert.is((await readClicks()).unique_clicks - before.unique_clicks, 2);
});

test('lists are cached, with the CORS header for every client; request ids are not cached', async () => {
  const before = await countReplies('listBots');
  const replies = await Promise.all(
    Array.from({ length: 40 }, (_, index) =>
      fetch(`${url}/bots/@all?page=2`, index % 2 === 0 ? {} : { headers: { Origin: 'https://a.example' } }),
    ),
  );
  const texts = await Promise.all(replies.map((response) => response.text()));

  assert.ok((await countReplies('listBots')) - before < 20, 'most requests did not reach the node');
  assert.is(new Set(texts).size, 1);
  for (const { headers, status } of replies) {
    assert.equal([status, headers.get('access-control-allow-origin')], [200, '*']);
    assert.is(headers.get('cache-control'), 'max-age=2');
  }
  const ids = new Set(replies.map(({ headers }) => headers.get('x-request-id')));
  assert.is(ids.size, replies.length);
  const own = await fetch(`${url}/bots/@all?page=2`, { headers: { 'X-Request-Id': 'mine-12345' } });
  assert.is(own.headers.get('x-request-id'), 'mine-12345');
});

test('nginx caches every list of the interface', async () => {
  const lists = routes.filter(({ path, caching }) => caching === 'list' && !path.includes('{'));
  assert.ok(lists.length > 5);
  for (const { name, path, caching } of lists) {
    const before = await countReplies(name);
    const replies = await Promise.all(Array.from({ length: 20 }, () => fetch(`${url}${path}`)));
    for (const response of replies) assert.is(response.status, 200, `${path} ${caching}`);
    assert.ok((await countReplies(name)) - before < 10, `${path} is cached`);
  }
});

test('replies that count or that differ each time are not cached', async () => {
  const reads = [
    ['getBot', `/bots/${world.demo.bot.id}?target=page`],
    ['getBot', `/bots/${world.demo.bot.id}`],
    ['randomBots', '/bots/@random'],
  ] as const;
  for (const [operation, path] of reads) {
    const before = await countReplies(operation);
    for (let count = 0; count < 5; count++) {
      const { status, headers } = await fetch(`${url}${path}`);
      assert.equal([status, headers.get('access-control-allow-origin')], [200, '*']);
    }
    assert.is((await countReplies(operation)) - before, 5, path);
  }
});

test('bodies up to the limit of a node pass, longer ones get 413; long header lines get 400', async () => {
  await withEchoServer(async (proxied) => {
    const post = async (bytes: number) =>
      (await fetch(`${proxied}/bots/1`, { method: 'POST', body: 'x'.repeat(bytes) })).status;
    const ask = async (bytes: number) => {
      const response = await fetch(`${proxied}/bots/1`, { headers: { 'X-Long': 'x'.repeat(bytes) } });
      return [response.status, response.headers.get('access-control-allow-origin')];
    };

    assert.is(await post(1_048_576), 200);
    assert.is(await post(1_048_577), 413);
    assert.equal(await ask(15_000), [200, '*']);
    assert.equal(await ask(17_000), [400, '*']);
  });
});

test.run();
