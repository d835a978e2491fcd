/**
 * The client for services that the operator configured, against real HTTP servers on loopback that behave,
 * misbehave, and do not exist.
 */
import { spawnSync } from 'node:child_process';
import { createServer, type RequestListener } from 'node:http';
import { gzipSync } from 'node:zlib';
import { Type } from 'typebox';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type FetchRequest, fetchJson } from '../../../http/outbound/fetch-json.ts';
import { json } from '../../support/lookup-server.ts';
import { close, listen } from '../../support/loopback.ts';

const test = suite('fetch json');
const Thing = Type.Object({ id: Type.String() });
let requested: string[] = [];
let closed = 0;

const answers: Record<string, RequestListener> = {
  '/ok': json({ id: 'one', more: true }),
  '/other': json({ id: 1 }),
  '/refusing': json({ error: 'invalid_grant' }, 400),
  '/failing': (_request, response) => response.writeHead(502).end('<h1>bad gateway</h1>'),
  '/moved': (_request, response) => response.writeHead(302, { location: '/ok' }).end(),
  '/html': (_request, response) => response.end('<h1>hello</h1>'),
  '/silent': () => {},
  '/halting': (_request, response) => response.write('{"id":'),
  '/breaking': (_request, response) => {
    response.writeHead(200, { 'content-length': '1000' }).write('{"id":');
    response.socket?.resetAndDestroy();
  },
  '/endless': (_request, response) => {
    response.on('close', () => closed++);
    const more = (): void => {
      while (!response.destroyed && response.write('x'.repeat(10_000)));
    };
    response.on('drain', more);
    more();
  },
  '/bomb': (_request, response) =>
    response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(' '.repeat(1_000_000))),
  '/echo': (request, response) => {
    let body = '';
    request.on('data', (chunk) => {
      body += String(chunk);
    });
    request.on('end', () => {
      response.end(JSON.stringify({ id: `${request.method} ${request.headers.authorization} ${body}` }));
    });
  },
};

const server = createServer((request, response) => {
  requested.push(request.url ?? '');
  answers[request.url ?? '']?.(request, response);
});
const base = `http://127.0.0.1:${await listen(server)}`;
test.before.each(() => {
  requested = [];
});
test.after(() => close(server));

const ask = (path: string, options: Partial<FetchRequest> = {}) =>
  fetchJson(Thing, { url: `${base}${path}`, timeLimitMs: 10_000, answerBytesMax: 4_096, ...options });

test('an answer that matches the schema is returned', async () => {
  assert.equal(await ask('/ok'), { kind: 'ok', value: { id: 'one', more: true } });
});

test('method, headers and body are sent', async () => {
  const answer = await ask('/echo', { method: 'POST', headers: { authorization: 'Bearer a' }, body: 'b' });
  assert.equal(answer, { kind: 'ok', value: { id: 'POST Bearer a b' } });
});

test('a status other than 2xx is `refused`, with the JSON of the answer', async () => {
  assert.equal(await ask('/refusing'), { kind: 'refused', status: 400, answer: { error: 'invalid_grant' } });
  assert.equal(await ask('/failing'), { kind: 'refused', status: 502, answer: null });
});

test('a redirect is not followed', async () => {
  assert.equal(await ask('/moved'), { kind: 'refused', status: 302, answer: null });
  assert.equal(requested, ['/moved']);
});

test('an answer that is not JSON, or does not match the schema, is malformed', async () => {
  assert.is((await ask('/html')).kind, 'malformed');
  assert.is((await ask('/other')).kind, 'malformed');
});

test('an answer over the cap is not read further, compressed or not', async () => {
  for (const path of ['/endless', '/bomb'])
    assert.equal(await ask(path), { kind: 'limited', reason: 'the answer is too large' });
  for (let wait = 0; closed === 0 && wait < 500; wait++) {
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  assert.is(closed, 1);
});

test('a service that never begins or never finishes its answer is unreachable', async () => {
  assert.is((await ask('/silent', { timeLimitMs: 50 })).kind, 'unreachable');
  assert.is((await ask('/halting', { timeLimitMs: 200 })).kind, 'unreachable');
});

test('a service that closes early, or does not exist, is unreachable', async () => {
  assert.is((await ask('/breaking')).kind, 'unreachable');
  assert.is((await ask('', { url: 'http://127.0.0.1:1/' })).kind, 'unreachable');
});

test('a process without a free descriptor is limited, as long as that lasts', () => {
  // The service, in this process, answers nothing meanwhile.
  const script = `
    import { closeSync, openSync } from 'node:fs';
    import { Type } from 'typebox';
    import { fetchJson } from '${new URL('../../../http/outbound/fetch-json.ts', import.meta.url).href}';
    const ask = () => fetchJson(Type.Any(), { url: '${base}/ok', timeLimitMs: 500, answerBytesMax: 99 });
    const files = [];
    try {
      for (;;) files.push(openSync('/dev/null'));
    } catch {}
    closeSync(files.pop());
    const kinds = [(await ask()).kind];
    for (const file of files) closeSync(file);
    kinds.push((await ask()).kind);
    process.exitCode = String(kinds) === 'limited,unreachable' ? 7 : 8;`;
  const node = [process.execPath, ...process.execArgv, '--input-type=module', '-e', script];
  const { status } = spawnSync('/bin/sh', ['-c', 'ulimit -n 60; exec "$@"', 'sh', ...node]);
  assert.is(status, 7);
});

test.run();
