/**
 * The shipped nginx configuration under the real program, before a real node: what a node gets to see, which
 * replies are kept, and the limits.
 *
 * What a node gets to see is told by a small server that answers with it.
 */
import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { findFreePort } from '../../bench/shared/free-port.ts';
import { routes } from '../../http/routes/table.ts';
import { type Nginx, startNginx } from '../support/nginx.ts';
import { openWorld, type World } from '../world.ts';

const test = suite('nginx');
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

interface Seen {
  readonly version: string;
  readonly connection: string | null;
  readonly host: string;
  readonly forwardedFor: string;
  readonly peerPort: number;
}

/** Runs with nginx before a server that answers with what it saw. */
const behind = async (use: (url: string) => Promise<void>): Promise<void> => {
  const server = createServer(({ headers, httpVersion, socket }, response) => {
    const seen: Seen = {
      version: httpVersion,
      connection: headers.connection ?? null,
      host: headers.host ?? '',
      forwardedFor: String(headers['x-forwarded-for'] ?? ''),
      peerPort: socket.remotePort ?? 0,
    };
    response.end(JSON.stringify(seen));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const port = await findFreePort();
  const proxy = await startNginx({ port, nodePort: (server.address() as AddressInfo).port });
  try {
    await use(`http://127.0.0.1:${port}`);
  } finally {
    await proxy.dispose();
    server.closeAllConnections();
    server.close();
  }
};

/** How often the node has answered this operation. */
const answered = async (operation: string): Promise<number> => {
  const metrics = await (await fetch(`${world.adminUrl}/metrics`)).text();
  const lines = metrics.split('\n').filter((line) => line.startsWith('rollcall_http_requests_total{'));
  return lines
    .filter((line) => line.includes(`"${operation}"`))
    .reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
};

/** A request from this address of loopback: nginx has it for the client. */
const askFrom = (localAddress: string, path: string, headers: Record<string, string>): Promise<void> =>
  new Promise((resolve, reject) => {
    const asking = request(`${url}${path}`, { localAddress, headers, agent: false }, (response) => {
      response.resume().on('end', resolve);
    });
    asking.on('error', reject).end();
  });

test('the program finds nothing to complain about', () => {
  assert.is(nginx.complaints, '');
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

test('without the line for HTTP/1.1 every answer is 505', async () => {
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

test('a node sees HTTP/1.1 on kept connections, the host, and a client that nginx names', async () => {
  await behind(async (proxied) => {
    const ask = async (): Promise<Seen> => {
      const response = await fetch(`${proxied}/bots/1`, { headers: { 'X-Forwarded-For': '6.6.6.6' } });
      return (await response.json()) as Seen;
    };
    const first = await ask();
    const second = await ask();

    const { host } = new URL(proxied);
    const { peerPort } = first;
    assert.equal(first, { version: '1.1', connection: null, host, forwardedFor: '127.0.0.1', peerPort });
    assert.is(second.peerPort, peerPort, 'the same connection');
  });
});

test('the node believes nginx who the client is, and nobody else', async () => {
  const path = `/bots/${world.demo.bot.id}`;
  const unique = async (): Promise<number> => {
    const shown = (await (await fetch(`${world.url}${path}`)).json()) as { unique_clicks: number };
    return shown.unique_clicks;
  };
  const before = await unique();
  const claims = ['6.6.6.1', '6.6.6.2', '6.6.6.3'].map((address) => ({ 'X-Forwarded-For': address }));
  for (const claim of claims) await askFrom('127.0.0.7', `${path}?target=page`, claim);
  for (const claim of claims) await askFrom('127.0.0.8', `${path}?target=page`, claim);
  await askFrom('127.0.0.8', path, {});
  await world.engine.waitForFlush('bot', world.demo.bot.id);

  assert.is((await unique()) - before, 2);
});

test('lists are kept, with the line for scripts, whoever asked first; ids of requests are not', async () => {
  const before = await answered('listBots');
  const asked = await Promise.all(
    Array.from({ length: 40 }, (_, index) =>
      fetch(`${url}/bots/@all?page=2`, index % 2 === 0 ? {} : { headers: { Origin: 'https://a.example' } }),
    ),
  );
  const texts = await Promise.all(asked.map((response) => response.text()));

  assert.ok((await answered('listBots')) - before < 20, 'most were not asked of the node');
  assert.is(new Set(texts).size, 1);
  for (const { headers, status } of asked) {
    assert.equal([status, headers.get('access-control-allow-origin')], [200, '*']);
    assert.is(headers.get('cache-control'), 'max-age=2');
  }
  const ids = new Set(asked.map(({ headers }) => headers.get('x-request-id')));
  assert.is(ids.size, asked.length);
  const own = await fetch(`${url}/bots/@all?page=2`, { headers: { 'X-Request-Id': 'mine-12345' } });
  assert.is(own.headers.get('x-request-id'), 'mine-12345');
});

test('every list of the interface is one that nginx keeps', async () => {
  for (const { name, path, caching } of routes.filter((route) => route.caching === 'list')) {
    const before = await answered(name);
    const asked = await Promise.all(Array.from({ length: 20 }, () => fetch(`${url}${path}`)));
    for (const response of asked) assert.is(response.status, 200, `${path} ${caching}`);
    assert.ok((await answered(name)) - before < 10, `${path} is kept`);
  }
});

test('what counts, and what is another each time, is not kept', async () => {
  const reads = [
    ['getBot', `/bots/${world.demo.bot.id}?target=page`],
    ['getBot', `/bots/${world.demo.bot.id}`],
    ['randomBots', '/bots/@random'],
  ] as const;
  for (const [operation, path] of reads) {
    const before = await answered(operation);
    for (let count = 0; count < 5; count++) {
      const { status, headers } = await fetch(`${url}${path}`);
      assert.equal([status, headers.get('access-control-allow-origin')], [200, '*']);
    }
    assert.is((await answered(operation)) - before, 5, path);
  }
});

test('bodies up to the limit of a node pass, longer ones are 413; so are long lines of a head', async () => {
  await behind(async (proxied) => {
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
