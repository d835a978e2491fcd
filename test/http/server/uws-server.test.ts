/**
 * Bytes on the wire: framing, smuggling, bodies, HEAD, pipelining, aborts, streaming, draining. Raw sockets
 * only, because client libraries would repair the malformed requests.
 */
import { connect } from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { pluck } from '../../support/pluck.ts';
import { answersIn, openSocket, raw, untilClosed } from '../raw.ts';
import { openWorld, type World } from '../world.ts';

const test = suite('server');
const deadlines = { readingMs: 300, workingMs: 300, outboundMs: 600, listeningMs: 600, sweepMs: 20 };
const world = await openWorld({ deadlines });
test.after(() => world.close());

const host = 'Host: a\r\n';
const get = `GET /things/a HTTP/1.1\r\n${host}\r\n`;
const post = (headers: string, body: string): string => `POST /echo HTTP/1.1\r\n${host}${headers}\r\n${body}`;
const sized = (body: string): string => post(`Content-Length: ${body.length}\r\n`, body);
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** A request hidden behind another one; it must never be served. */
const smuggled = `GET /things/smuggled HTTP/1.1\r\n${host}\r\n`;
test('a chunked body is read, and the connection closed after the reply', async () => {
  const bytes = post('Transfer-Encoding: chunked\r\n', '5\r\n{"a":\r\n3\r\n1}\n\r\n0\r\n\r\n');

  const answer = await raw(world.port, bytes, untilClosed);

  assert.ok(answer.closed);
  assert.is(answersIn(answer.text)[0]?.body, '{"body":{"a":1}}');
});

test('a chunked body above the cap → 413 and close, long before its end', async () => {
  const chunk = `1000\r\n${'x'.repeat(4_096)}\r\n`;

  const answer = await raw(
    world.port,
    [post('Transfer-Encoding: chunked\r\n', chunk), chunk, chunk],
    untilClosed,
  );

  assert.ok(answer.closed);
  assert.match(answer.text, /^HTTP\/1\.1 413 /);
});

test('a declared length above the cap → 413 and close, before any body', async () => {
  const answer = await raw(world.port, post('Content-Length: 1000000000\r\n', ''), untilClosed);

  assert.ok(answer.closed);
  assert.is(JSON.parse(answersIn(answer.text)[0]?.body ?? '{}').context.code, 'body_too_large');
});

test('a body of exactly the cap is read', async () => {
  const body = `"${'x'.repeat(4_094)}"`;

  const answer = await raw(world.port, sized(body));

  assert.is(answersIn(answer.text)[0]?.status, 200);
});

test('a body in many small packets arrives whole', async () => {
  const { socket, text } = openSocket(world.port);
  socket.setNoDelay(true);
  const bytes = Buffer.from(sized('{"word":"grüße"}'.replace('ü', 'u').replace('ß', 's')));
  for (const byte of bytes) {
    socket.write(Buffer.of(byte));
    await pause(1);
  }
  while (answersIn(text()).length === 0) await pause(5);
  socket.destroy();

  assert.is(answersIn(text())[0]?.body, '{"body":{"word":"gruse"}}');
});

test('a body that never arrives → 400 within the reading deadline, and close', async () => {
  const answer = await raw(world.port, post('Content-Length: 10\r\n', '{'), untilClosed);

  assert.ok(answer.closed);
  assert.is(answersIn(answer.text)[0]?.status, 400);
});

test('HEAD answers as GET does, with the length and without the body', async () => {
  const head = get.replace('GET', 'HEAD');

  const answer = await raw(world.port, head + get, (text) => text.endsWith('}'));

  const [first, second] = answer.text.split('\r\n\r\nHTTP/1.1');
  assert.match(first ?? '', /Content-Length: 29/);
  assert.match(second ?? '', /"id":"a"/);
  assert.is(world.seen.filter((seen) => (seen.value as { head?: boolean })?.head === true).length > 0, true);
});

test('HEAD on an unknown path → 404 without a body', async () => {
  const answer = await raw(world.port, `HEAD /nothing HTTP/1.1\r\n${host}\r\n${get}`, (text) =>
    text.endsWith('}'),
  );

  assert.match(answer.text, /^HTTP\/1\.1 404 /);
  assert.not.match(answer.text, /route_not_found/);
});

test('the body of a rejected request is not parsed as the next request', async () => {
  const refused = `POST /nothing HTTP/1.1\r\n${host}Content-Length: ${smuggled.length}\r\n\r\n${smuggled}`;

  const answer = await raw(world.port, refused + get, (text) => answersIn(text).length === 2);

  assert.equal(pluck(answersIn(answer.text), 'status'), [404, 200]);
  assert.match(answersIn(answer.text)[1]?.body ?? '', /"a"/);
});

test('a request rejected before its body arrived: the body is skipped, the next one is served', async () => {
  const { socket, text } = openSocket(world.port);
  socket.write(`POST /things/stats HTTP/1.1\r\n${host}Content-Length: ${smuggled.length}\r\n\r\n`);
  while (answersIn(text()).length === 0) await pause(2);

  socket.write(smuggled);
  await pause(10);
  socket.write(get);
  while (answersIn(text()).length === 1) await pause(2);
  socket.destroy();

  assert.equal(pluck(answersIn(text()), 'status'), [401, 200]);
  assert.match(answersIn(text())[1]?.body ?? '', /"a"/);
});

test('bytes that are not UTF-8 → 400', async () => {
  for (const bytes of ['"\xff"', '"\xc0\xaf"', '"\xed\xa0\x80"', '\xef\xbb\xbf{}']) {
    const answer = await raw(world.port, sized(bytes));
    assert.is(JSON.parse(answersIn(answer.text)[0]?.body ?? '{}').context.code, 'malformed_json', bytes);
  }
});

test('the body of a GET is skipped; one above the cap closes the connection', async () => {
  const small = get.replace(host, `${host}Content-Length: 3\r\n`);
  const answers = await raw(world.port, `${small}abc${get}`, (text) => answersIn(text).length === 2);
  const huge = await raw(world.port, get.replace(host, `${host}Content-Length: 1000000\r\n`), untilClosed);

  assert.is(answersIn(answers.text).length, 2);
  assert.ok(huge.closed);
});

test('16 KiB of request line and headers are read, a byte more is 431, and the server goes on', async () => {
  const sizedTo = (bytes: number): string[] => {
    const path = `GET /things/a?${'x'.repeat(8_000)} HTTP/1.1\r\n${host}`;
    const filled = `${path}X-Filler: ${'x'.repeat(bytes - path.length - 14)}\r\n\r\n`;
    assert.is(filled.length, bytes);
    return [filled];
  };
  const most = await raw(world.port, sizedTo(16_384));
  const more = await raw(world.port, sizedTo(16_385), untilClosed);

  assert.is(answersIn(most.text)[0]?.status, 200);
  assert.match(more.text, /^HTTP\/1\.1 431 /);
  assert.ok(more.closed);
  assert.is(answersIn((await raw(world.port, get)).text)[0]?.status, 200);
});

test('a compressed body is 415 whatever its bytes, and whatever else is wrong with it', async () => {
  for (const body of ['\x1f\x8b\x08\xff\xff', '{}', '{', 'x'.repeat(5_000)]) {
    for (const coding of ['gzip', 'br', 'identity, gzip', 'unknown', 'gzip\r\nContent-Encoding: identity']) {
      const headers = `Content-Encoding: ${coding}\r\nContent-Length: ${body.length}\r\n`;
      const answer = await raw(world.port, post(headers, body));
      const [only] = answersIn(answer.text);
      assert.is(only?.status, 415, coding);
      assert.is(JSON.parse(only?.body ?? '{}').context.code, 'content_encoding_unsupported');
    }
  }
});

test('unknown methods and TRACE on a known path → 405, an upgrade is served as plain HTTP', async () => {
  for (const method of ['TRACE', 'FOO', 'get', 'PROPFIND']) {
    const answer = await raw(world.port, get.replace('GET', method));
    assert.match(answer.text, /^HTTP\/1\.1 405 /, method);
  }
  const upgrade = get.replace(host, `${host}Upgrade: websocket\r\nConnection: Upgrade\r\n`);
  assert.is(answersIn((await raw(world.port, upgrade)).text)[0]?.status, 200);
});

test('Expect: 100-continue gets its 100, then the reply', async () => {
  const answer = await raw(
    world.port,
    [post('Expect: 100-continue\r\nContent-Length: 2\r\n', ''), '{}'],
    (text) => text.endsWith('{"body":{}}'),
  );

  assert.match(answer.text, /^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 OK/);
});

test('a request id that could split a header is replaced', async () => {
  const kept = await raw(world.port, get.replace(host, `${host}X-Request-Id: abc_DEF-123\r\n`));
  const replaced = await raw(world.port, get.replace(host, `${host}X-Request-Id: short\r\n`));
  const spaced = await raw(world.port, get.replace(host, `${host}X-Request-Id: abcdefgh ijkl\r\n`));

  assert.is(answersIn(kept.text)[0]?.headers['x-request-id'], 'abc_DEF-123');
  assert.not.match(replaced.text, /X-Request-Id: short/);
  assert.not.match(spaced.text, /abcdefgh ijkl/);
});

test('nothing names the server software', async () => {
  assert.not.match((await raw(world.port, get)).text, /websockets/i);
});

test('a client that disconnects while its request waits is not written to', async () => {
  const token = world.token('user', 'u1');
  const socket = connect(world.port, '127.0.0.1');
  socket.write(`PUT /users/u1/slow HTTP/1.1\r\n${host}User-Auth: ${token}\r\n\r\n`);
  while (world.facade.inFlight === 0) await pause(2);

  socket.destroy();
  while (world.facade.inFlight > 0) await pause(2);
  world.release();
  await pause(10);

  assert.is(answersIn((await raw(world.port, get)).text)[0]?.status, 200);
});

test('a handler that takes too long → 503 deadline_passed, outcome unknown', async () => {
  const token = world.token('user', 'u2');

  const answer = await raw(world.port, `PUT /users/u2/slow HTTP/1.1\r\n${host}User-Auth: ${token}\r\n\r\n`);
  world.release();

  const [only] = answersIn(answer.text);
  assert.is(only?.status, 503);
  assert.is(only?.headers['retry-after'], '1');
  const { context } = JSON.parse(only?.body ?? '{}');
  assert.is(context.code, 'deadline_passed');
  assert.is(context.outcome, 'unknown');
});

test('a streamed reply arrives whole, and HEAD of it is empty', async () => {
  const request = `GET /things/@stream?pieces=3000 HTTP/1.1\r\n${host}Connection: close\r\n\r\n`;

  const answer = await raw(world.port, request, untilClosed, 5_000);

  assert.match(answer.text, /Transfer-Encoding: chunked/);
  assert.is(answer.text.split('xxx"').length - 1, 3_000);
  assert.ok(answer.text.endsWith(']\r\n0\r\n\r\n'), answer.text.slice(-40));
  const head = await raw(world.port, request.replace('GET', 'HEAD'), untilClosed);
  assert.not.match(head.text, /xxx/);
});

test('a streamed reply to a request that closes its connection says so, once', async () => {
  for (const lines of ['Connection: close', 'Connection: TE, close', 'Transfer-Encoding: chunked']) {
    const request = `GET /things/@stream?pieces=1 HTTP/1.1\r\n${host}${lines}\r\n\r\n`;
    const body = lines.includes('chunked') ? '0\r\n\r\n' : '';
    for (const bytes of [request + body, request.replace('GET', 'HEAD') + body]) {
      const { text } = await raw(world.port, bytes, (sent) => /\]\r\n0\r\n\r\n$/.test(sent), 500);
      assert.is(text.match(/\r\nConnection: close\r\n/g)?.length, 1, `${lines}: ${text.slice(0, 400)}`);
    }
  }
});

test('a streamed reply that fails in the middle closes the connection without an end', async () => {
  const request = `GET /things/@stream?pieces=2&break=true HTTP/1.1\r\n${host}\r\n`;

  const answer = await raw(world.port, request, untilClosed);

  assert.ok(answer.closed || !answer.text.endsWith('0\r\n\r\n'));
  assert.not.match(answer.text, /0\r\n\r\n$/);
});

test('a client that disconnects from a streamed reply ends the iteration', async () => {
  world.seen.length = 0;
  const socket = connect(world.port, '127.0.0.1');
  socket.write(`GET /things/@stream?pieces=1000000 HTTP/1.1\r\n${host}\r\n`);
  await new Promise((resolve) => socket.once('data', resolve));
  socket.pause();
  await pause(50);

  socket.destroy();
  const until = Date.now() + 2_000;
  while (world.seen.length < 2 && Date.now() < until) await pause(5);

  assert.ok(world.seen.some((seen) => seen.name === 'streamEnded'));
});

for (const [address, port, words] of [
  ['127.0.0.1', world.port, /already in use/],
  ['192.0.2.1', 0, /not an address of this machine/],
] as const) {
  test(`a listener at ${address} is rejected: ${words.source}`, async () => {
    const other = await openWorld({ deadlines });
    const failure = await other.facade.listen(address, port).catch((error: Error) => error.message);
    await other.close();

    assert.match(String(failure), words);
  });
}

/** Sends a request that waits until it is released. */
const askSlowly = ({ port, token }: World) => {
  const head = `PUT /users/u1/slow HTTP/1.1\r\n${host}User-Auth: ${token('user', 'u1')}\r\n\r\n`;
  return raw(port, head, untilClosed);
};

test('a drain answers requests in flight, rejects new ones, and closes idle connections', async () => {
  const other = await openWorld();
  const waiting = askSlowly(other);
  const { socket: idle, text: idleText } = openSocket(other.port);
  await new Promise((resolve) => idle.once('connect', resolve));
  const idleClosed = new Promise((resolve) => idle.once('close', resolve));
  while (other.facade.inFlight === 0) await pause(2);

  const drained = other.facade.drain(2_000);
  idle.write(get);
  while (idleText() === '') await pause(2);
  other.release();
  await drained;

  assert.match((await waiting).text, /^HTTP\/1\.1 204 /);
  assert.match(idleText(), /^HTTP\/1\.1 503 /);
  await idleClosed;
  assert.is((await raw(other.port, get)).text, '');
});

test('a drain ends at its deadline even when a request does not', async () => {
  const other = await openWorld();
  const waiting = askSlowly(other);
  while (other.facade.inFlight === 0) await pause(2);
  const startedMs = performance.now();

  await other.facade.drain(100);

  assert.ok(performance.now() - startedMs < 1_000);
  await waiting;
});

test.run();
