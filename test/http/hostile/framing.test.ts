/**
 * Framing: requests whose end can be read in two ways, every spelling of a chunk, targets that are not plain
 * paths, and a body before the next request. Each request gets one reply, or an error that closes the
 * connection; a request hidden inside a body is never served.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { assertIncludes } from '../../support/assert-includes.ts';
import { answersIn, type RawAnswer, raw, untilClosed } from '../raw.ts';
import { openWorld } from '../world.ts';

const test = suite('hostile framing');
const world = await openWorld({
  deadlines: { readingMs: 300, workingMs: 300, outboundMs: 600, listeningMs: 600, sweepMs: 20 },
});
test.after(() => world.close());

const host = 'Host: a\r\n';
const smuggled = `GET /things/smuggled HTTP/1.1\r\n${host}\r\n`;
const post = (headers: string, body: string): string => `POST /echo HTTP/1.1\r\n${host}${headers}\r\n${body}`;
const chunked = (body: string, coding = 'Transfer-Encoding: chunked\r\n'): string => post(coding, body);
const rest = `\r\n{}\r\n0\r\n\r\n${smuggled}`;

const chunks: readonly [string, string][] = [
  ['an extension', chunked(`2;a=b${rest}`)],
  ['more bytes behind its end', chunked(`2${rest}`)],
  ['an extension with quotes', chunked(`2;a="\r\n0\r\n\r\n${smuggled}"${rest}`)],
  ['a bare semicolon', chunked(`2;${rest}`)],
  ['a sign', chunked(`+2${rest}`)],
  ['a minus', chunked(`-2${rest}`)],
  ['a hexadecimal mark', chunked(`0x2${rest}`)],
  ['a space before', chunked(` 2${rest}`)],
  ['a space behind', chunked(`2 ${rest}`)],
  ['a tab behind', chunked(`2\t${rest}`)],
  ['a letter that is no digit', chunked(`g${rest}`)],
  ['a colon for a digit', chunked(`:${rest}`)],
  ['an at sign for a digit', chunked(`@${rest}`)],
  ['no size', chunked(rest)],
  ['a bare line feed behind the size', chunked(`2\n{}\r\n0\r\n\r\n${smuggled}`)],
  ['a bare line feed behind the data', chunked(`2\r\n{}\n0\r\n\r\n${smuggled}`)],
  ['a bare carriage return', chunked(`2\r{}\r\n0\r\n\r\n${smuggled}`)],
  ['data longer than said', chunked(`2\r\n{}abc\r\n0\r\n\r\n${smuggled}`)],
  ['data shorter than said', chunked(`8\r\n{}\r\n0\r\n\r\n${smuggled}`)],
  ['a size of 17 digits', chunked(`00000000000000002${rest}`)],
  ['a size beyond all numbers', chunked(`FFFFFFFFFFFFFFFFF${rest}`)],
  ['a size that wraps around', chunked(`100000002${rest}`)],
  ['trailers', chunked(`2\r\n{}\r\n0\r\nContent-Length: 5\r\n\r\n${smuggled}`)],
  ['a last chunk of many zeros', chunked(`2\r\n{}\r\n0000\r\n\r\n${smuggled}`)],
  ['no end of the last chunk', chunked(`2\r\n{}\r\n0\r\n${smuggled}`)],
  ['a vertical tab before the coding', chunked(`2${rest}`, 'Transfer-Encoding:\x0bchunked\r\n')],
  ['quotes around the coding', chunked(`2${rest}`, 'Transfer-Encoding: "chunked"\r\n')],
  ['a parameter of the coding', chunked(`2${rest}`, 'Transfer-Encoding: chunked;a=b\r\n')],
  ['an empty coding', chunked(`2${rest}`, 'Transfer-Encoding: \r\n')],
  ['a coding in the header above', chunked(`2${rest}`, 'X-A: b\rTransfer-Encoding: chunked\r\n')],
  ['a name with an underscore', chunked(`2${rest}`, 'Transfer_Encoding: chunked\r\nContent-Length: 2\r\n')],
];

/** The statuses of all replies, with any framing. */
const statuses = (text: string): string[] =>
  [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map((each) => each[1] ?? '');

const codings = ['chunked\r\nTransfer-Encoding: identity', 'chunked\r\nTransfer-Encoding: chunked']
  .concat(['xchunked', 'gzip, chunked', 'identity'])
  .map((value) => `Transfer-Encoding: ${value}\r\n`);
const ambiguous: readonly [string, string][] = [
  ...codings.map((coding): [string, string] => [JSON.stringify(coding), chunked(`2${rest}`, coding)]),
  ['two lengths that differ', post('Content-Length: 2\r\nContent-Length: 5\r\n', `{}${smuggled}`)],
  ['two lengths, one with a zero', post('Content-Length: 2\r\nContent-Length: 02\r\n', `{}${smuggled}`)],
  ['a shorter length second', post('Content-Length: 5\r\nContent-Length: 2\r\n', `{}${smuggled}`)],
  ['a third length that differs', post(`${'Content-Length: 2\r\n'.repeat(2)}Content-Length: 3\r\n`, '{}')],
  ['an empty length second', post('Content-Length: 2\r\nContent-Length: \r\n', `{}${smuggled}`)],
  ['an empty length first', post('Content-Length: \r\nContent-Length: 2\r\n', `{}${smuggled}`)],
  ['an empty length', post('Content-Length: \r\n', smuggled)],
  ['length and coding', chunked(`2${rest}`, 'Content-Length: 2\r\nTransfer-Encoding: chunked\r\n')],
  ['coding and length', chunked(`2${rest}`, 'Transfer-Encoding: chunked\r\nContent-Length: 2\r\n')],
  ['a minus sign', post('Content-Length: -2\r\n', `{}${smuggled}`)],
  ['a list of lengths', post('Content-Length: 2, 2\r\n', `{}${smuggled}`)],
  ['a hexadecimal length', post('Content-Length: 0x2\r\n', `{}${smuggled}`)],
  ['a huge length', post('Content-Length: 99999999999999999999\r\n', `{}${smuggled}`)],
  ['a space before the colon of a length', post('Content-Length : 2\r\n', `{}${smuggled}`)],
  ['a space before the colon of a coding', chunked(`2${rest}`, 'Transfer-Encoding : chunked\r\n')],
  ['a length on the second line of a header', post('X-A: 1\r\n Content-Length: 2\r\n', `{}${smuggled}`)],
  ['a NUL in a header', `GET /things/a HTTP/1.1\r\n${host}X-A: \0\r\n\r\n`],
];

/** Sends a request that hides another one. */
const sendHiding = async (bytes: string): Promise<RawAnswer> => {
  world.seen.length = 0;
  const answer = await raw(world.port, bytes, untilClosed, 3_000);
  assert.ok(statuses(answer.text).length <= 1, answer.text);
  const served = world.seen.filter(({ name: row }) => row === 'getThing');
  assert.equal(served, [], answer.text);
  return answer;
};

for (const [name, bytes] of chunks) {
  test(`a chunk with ${name}: at most one answer, then the end; nothing hidden is served`, async () => {
    const { closed, text } = await sendHiding(bytes);

    // Without an answer it may be open: a header that never ends is closed with the other slow clients.
    assert.ok(closed || text === '', text);
  });
}

for (const [name, bytes] of ambiguous) {
  test(`${name}: at most one answer, an error, and the connection closes`, async () => {
    const { closed, text } = await sendHiding(bytes);

    assert.ok(closed, text);
    if (text !== '') assert.match(text, /^HTTP\/1\.1 (400|413|505) /);
  });
}

test('equal lengths are one: the body ends there, and the next request is one of its own', async () => {
  for (const times of [2, 3]) {
    world.seen.length = 0;
    const { text } = await raw(
      world.port,
      post(
        'Content-Length: 2\r\n'.repeat(times),
        `{}GET /things/a HTTP/1.1\r\n${host}Connection: close\r\n\r\n`,
      ),
      untilClosed,
    );

    assert.equal(statuses(text), ['200', '200'], text);
    assert.is(world.seen.filter(({ name: row }) => row === 'getThing').length, 1);
  }
});

for (const coding of codings.slice(1)) {
  test(`${JSON.stringify(coding)} → 400 and close`, async () => {
    const { closed, text } = await raw(world.port, chunked('2\r\n{}\r\n0\r\n\r\n', coding), untilClosed);

    assert.ok(closed);
    assert.is(JSON.parse(answersIn(text)[0]?.body ?? '{}').context.code, 'malformed_request');
  });
}

const targets: readonly string[] = [
  'http://evil/things/a',
  'https://evil/things/a',
  'evil:443',
  '*',
  '//evil/things/a',
  '/things//a',
  '/things/a/',
  '/./things/a',
  '/nothing/../things/a',
  '/nothing/%2e%2e/things/a',
  '/things%2fa',
  '/things\\a',
  '/things/%00',
  '/things;x=y/a',
];
for (const method of ['GET', 'OPTIONS', 'POST', 'CONNECT', 'TRACE']) {
  test(`${method} of a target that is no plain path is never another route`, async () => {
    for (const target of targets) {
      world.seen.length = 0;
      const request = `${method} ${target} HTTP/1.1\r\n${host}Connection: close\r\n\r\n`;
      const answer = await raw(world.port, request, (text) => text.includes('\r\n\r\n'));
      const [found = ''] = statuses(answer.text);
      assertIncludes(['', '400', '404', '405', '505'], found, `${target}: ${answer.text.slice(0, 200)}`);
      assert.equal(world.seen, [], target);
    }
  });
}

const headers = (count: number): string =>
  Array.from({ length: count }, (_, index) => `X-${index}: b\r\n`).join('');
/** The HTML error replies of the HTTP parser (docs/behaviour/requests.md). */
const improper: readonly [string, number, string][] = [
  ['no Host', 400, 'GET /things/a HTTP/1.1\r\n\r\n'],
  ['two Hosts', 400, `GET /things/a HTTP/1.1\r\n${host}${host}\r\n`],
  ['a length that is no number', 400, `POST /echo HTTP/1.1\r\n${host}Content-Length: 1x\r\n\r\n1`],
  ['a length with a sign', 400, `POST /echo HTTP/1.1\r\n${host}Content-Length: +1\r\n\r\n1`],
  ['a header without a colon', 400, `GET /things/a HTTP/1.1\r\n${host}X-A\r\n\r\n`],
  ['a space before the colon', 400, `GET /things/a HTTP/1.1\r\n${host}X-A : b\r\n\r\n`],
  ['a header on two lines', 400, `GET /things/a HTTP/1.1\r\n${host}X-A: b\r\n c\r\n\r\n`],
  ['a bracket in a name', 400, `GET /things/a HTTP/1.1\r\n${host}X(A): b\r\n\r\n`],
  ['a control character', 400, `GET /things/a HTTP/1.1\r\n${host}X-A: \x01\r\n\r\n`],
  ['99 headers', 431, `GET /things/a HTTP/1.1\r\n${host}${headers(98)}\r\n`],
  ['HTTP/1.0', 505, `GET /things/a HTTP/1.0\r\n${host}\r\n`],
  ['HTTP/2.0', 505, 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
  ['no version', 505, 'GET /things/a\r\n\r\n'],
  ['two spaces', 505, `GET  /things/a HTTP/1.1\r\n${host}\r\n`],
  ['a whole address', 505, `GET http://a/things/a HTTP/1.1\r\n${host}\r\n`],
  ['an asterisk', 505, `OPTIONS * HTTP/1.1\r\n${host}\r\n`],
  ['line feeds alone', 505, 'GET /things/a HTTP/1.1\nHost: a\n\n'],
  ['TLS', 505, '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'],
];
for (const [name, status, bytes] of improper) {
  test(`${name}: ${status} in HTML, and the connection closes`, async () => {
    const answer = await raw(world.port, bytes, untilClosed);

    assert.match(answer.text, new RegExp(`^HTTP/1\\.1 ${status} [^]*<h1>`));
    assert.ok(answer.closed);
  });
}

test('98 headers are read', async () => {
  const answer = await raw(world.port, `GET /things/a HTTP/1.1\r\n${host}${headers(97)}\r\n`);

  assert.is(answersIn(answer.text)[0]?.status, 200);
});

test('a parameter of a segment is part of the id, and a fragment names nothing else', async () => {
  for (const [target, id] of [
    ['/things/a;b=c', 'a;b=c'],
    ['/things/a%3Bb', 'a;b'],
    ['/things/a%3Fpage=2', 'a?page=2'],
    ['/things/a%252f', 'a%2f'],
  ]) {
    const answer = await raw(world.port, `GET ${target} HTTP/1.1\r\n${host}\r\n`);
    assert.is(JSON.parse(answersIn(answer.text)[0]?.body ?? '{}').id, id);
  }
});

test('a GET behind the body of a POST is a request of its own, inside it is none', async () => {
  const inside = `POST /echo HTTP/1.1\r\n${host}Content-Length: ${smuggled.length}\r\n\r\n${smuggled}`;
  world.seen.length = 0;

  const answer = await raw(
    world.port,
    `${inside}GET /things/behind HTTP/1.1\r\n${host}\r\n`,
    (text) => answersIn(text).length === 2,
  );

  assert.equal(statuses(answer.text), ['400', '200']);
  const ids = world.seen.map(({ value }) => (value as { params: { id: string } }).params.id);
  assert.equal(ids, ['behind']);
});

test('a chunked body without an end is refused at the cap, and memory is not asked for more', async () => {
  const chunk = `400\r\n${'x'.repeat(1_024)}\r\n`;

  const answer = await raw(world.port, [chunked(''), chunk.repeat(4_000)], untilClosed, 5_000);

  assertIncludes(['', '413'], statuses(answer.text)[0] ?? '', answer.text);
});

test.run();
