/**
 * Framing: requests whose end can be read in two ways, and requests that hide a second one (smuggling).
 *
 * The answer is always one error and the connection closes; the hidden request is never served.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { answersIn, raw, untilClosed } from '../raw.ts';
import { openWorld } from '../world.ts';

const test = suite('request headers');
const world = await openWorld({
  deadlines: { readingMs: 300, workingMs: 300, outboundMs: 600, listeningMs: 600, sweepMs: 20 },
});
test.after(() => world.close());

const host = 'Host: a\r\n';
const post = (headers: string, body: string): string => `POST /echo HTTP/1.1\r\n${host}${headers}\r\n${body}`;
/** Hidden behind another request; it must never be served. */
const smuggled = `GET /things/smuggled HTTP/1.1\r\n${host}\r\n`;

const framings: readonly [string, string][] = [
  ['two lengths that differ', post('Content-Length: 2\r\nContent-Length: 5\r\n', `{}${smuggled}`)],
  ['two equal lengths', post('Content-Length: 2\r\nContent-Length: 2\r\n', `{}${smuggled}`)],
  ['an empty length first', post(`Content-Length: \r\nContent-Length: 2\r\n`, `{}${smuggled}`)],
  ['an empty length', post('Content-Length: \r\n', smuggled)],
  [
    'length and coding',
    post('Content-Length: 2\r\nTransfer-Encoding: chunked\r\n', `2\r\n{}\r\n0\r\n\r\n${smuggled}`),
  ],
  [
    'coding and length',
    post('Transfer-Encoding: chunked\r\nContent-Length: 2\r\n', `2\r\n{}\r\n0\r\n\r\n${smuggled}`),
  ],
  ['an unknown coding', post('Transfer-Encoding: xchunked\r\n', `2\r\n{}\r\n0\r\n\r\n${smuggled}`)],
  ['combined codings', post('Transfer-Encoding: gzip, chunked\r\n', `2\r\n{}\r\n0\r\n\r\n${smuggled}`)],
  ['identity coding', post('Transfer-Encoding: identity\r\n', `2\r\n{}\r\n0\r\n\r\n${smuggled}`)],
  [
    'two codings',
    post('Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n', `0\r\n\r\n${smuggled}`),
  ],
  [
    'a chunked coding twice',
    post('Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n', `0\r\n\r\n${smuggled}`),
  ],
  ['a plus sign', post('Content-Length: +2\r\n', `{}${smuggled}`)],
  ['a minus sign', post('Content-Length: -2\r\n', `{}${smuggled}`)],
  ['a list of lengths', post('Content-Length: 2, 2\r\n', `{}${smuggled}`)],
  ['a hexadecimal length', post('Content-Length: 0x2\r\n', `{}${smuggled}`)],
  ['a huge length', post('Content-Length: 99999999999999999999\r\n', `{}${smuggled}`)],
  ['a space before the colon', post('Content-Length : 2\r\n', `{}${smuggled}`)],
  ['a coding with a space before the colon', post('Transfer-Encoding : chunked\r\n', `0\r\n\r\n${smuggled}`)],
  ['bare line feeds', `POST /echo HTTP/1.1\n${host}Content-Length: 2\n\n{}${smuggled}`],
  ['a folded header', post('X-A: 1\r\n Content-Length: 2\r\n', `{}${smuggled}`)],
  ['a chunk extension', post('Transfer-Encoding: chunked\r\n', `2;a=b\r\n{}\r\n0\r\n\r\n${smuggled}`)],
  ['bytes after a chunked body', post('Transfer-Encoding: chunked\r\n', `2\r\n{}\r\n0\r\n\r\n${smuggled}`)],
  ['two hosts', `GET /things/a HTTP/1.1\r\n${host}Host: b\r\n\r\n`],
  ['no host', 'GET /things/a HTTP/1.1\r\n\r\n'],
  ['HTTP/1.0', `GET /things/a HTTP/1.0\r\n${host}\r\n`],
  ['an absolute target', `GET http://evil/things/a HTTP/1.1\r\n${host}\r\n`],
  ['a NUL in a header', `GET /things/a HTTP/1.1\r\n${host}X-A: \0\r\n\r\n`],
];

for (const [name, bytes] of framings) {
  test(`${name}: at most one answer, an error, and the connection is closed`, async () => {
    world.seen.length = 0;

    const answer = await raw(world.port, bytes, untilClosed);

    assert.ok(answer.closed, answer.text);
    assert.is(answer.text.split('HTTP/1.1 ').length - 1 <= 1, true, answer.text);
    const fine = name === 'bytes after a chunked body';
    if (answer.text !== '' && !fine) assert.match(answer.text, /^HTTP\/1\.1 (400|413|505) /);
    assert.not(world.seen.some((seen) => JSON.stringify(seen.value).includes('smuggled')));
  });
}

for (const coding of ['xchunked', 'gzip, chunked', 'identity', 'chunked\r\nTransfer-Encoding: chunked']) {
  test(`Transfer-Encoding: ${JSON.stringify(coding)} → 400 and close`, async () => {
    const bytes = post(`Transfer-Encoding: ${coding}\r\n`, '2\r\n{}\r\n0\r\n\r\n');

    const answer = await raw(world.port, bytes, untilClosed);

    assert.ok(answer.closed);
    assert.is(JSON.parse(answersIn(answer.text)[0]?.body ?? '{}').context.code, 'malformed_request');
  });
}

test.run();
