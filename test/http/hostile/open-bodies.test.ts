/**
 * Large bodies that never end: their common memory is bounded, further bodies get a clear error, bodies in
 * one chunk are not affected, and the memory is released when the connections are gone.
 */
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { formatToken } from '../../../engine/rules/token.ts';
import type { App } from '../../../http/app.ts';
import { openBodiesBytesMax } from '../../../http/server/open-body.ts';
import { pluck } from '../../support/pluck.ts';
import { answersIn, openSocket, raw } from '../raw.ts';
import { ask, openWorld, realClock } from '../world.ts';

const test = suite('hostile open bodies');
const bytesMax = 2_097_152;
const app = { clock: realClock, settings: { bodyBytesMax: bytesMax } } as unknown as App;
const world = await openWorld({ app });
test.after(() => world.close());

const head = (length: number): string =>
  `POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: ${length}\r\n\r\n`;
const unfinished = `${head(bytesMax)}"${'x'.repeat(bytesMax - 4_096)}`;

/** Resolves to what the server sends before it closes. */
const openOne = (sockets: Socket[]): Promise<string> =>
  new Promise((resolve) => {
    const { socket, text } = openSocket(world.port);
    sockets.push(socket);
    socket.on('close', () => resolve(text()));
    socket.write(unfinished);
  });

/** The status of a request whose large body comes in two chunks. */
const askInTwoPieces = async (): Promise<number> => {
  const { socket, text } = openSocket(world.port);
  socket.write(`${head(bytesMax)}"${'x'.repeat(bytesMax - 1_002)}`);
  await new Promise((resolve) => setTimeout(resolve, 20));
  socket.write(`${'x'.repeat(1_000)}"`);
  await new Promise<void>((resolve) => {
    socket.on('close', resolve);
    socket.on('data', () => answersIn(text()).length > 0 && resolve());
  });
  socket.destroy();
  return Number(/^HTTP\/1\.1 (\d+)/.exec(text())?.[1]);
};

test('bodies of more than 64 MiB together are 503, and their memory is released', async () => {
  const sockets: Socket[] = [];
  const refused = Array.from({ length: 3 * (openBodiesBytesMax / bytesMax) }, () => openOne(sockets));

  const first = await Promise.race(refused);
  const { context } = JSON.parse(answersIn(first)[0]?.body ?? '{}');
  assert.equal([context.code, context.outcome], ['overloaded', 'not_applied']);
  assert.match(first, /\r\nRetry-After: 1\r\n/);
  const whole = await raw(world.port, `${head(2)}{}`);
  assert.is(answersIn(whole.text)[0]?.status, 200);

  for (const socket of sockets) socket.destroy();
  await Promise.all(refused);
  while (world.facade.inFlight > 0) await new Promise((resolve) => setTimeout(resolve, 5));
  assert.is(await askInTwoPieces(), 200);
  assert.is((await ask(world, 'GET', '/things/a')).status, 200);
});

const unknown = formatToken({ kind: 'bot', id: 'bot1' }, Buffer.alloc(32, 9));
const toRefused = (request: string): string =>
  request.replace('/echo', '/things/stats').replace('Host: a\r\n', `Host: a\r\nBot-Auth: ${unknown}\r\n`);

test('a refused request whose body goes on slowly is answered and closed before its end', async () => {
  const { socket, text } = openSocket(world.port);
  socket.write(toRefused(head(bytesMax)));
  let sent = 0;
  for (const piece = 'x'.repeat(1_024); !socket.destroyed && sent + piece.length < bytesMax; sent += 1_024) {
    socket.write(piece);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  socket.destroy();

  assert.ok(sent < bytesMax / 2, `${sent} bytes were taken`);
  assert.match(text(), /^HTTP\/1\.1 401 /);
  assert.match(text(), /\r\nConnection: close\r\n/i);
});

test('a refused request whose body ends soon is answered then, and the connection stays open', async () => {
  const body = 'x'.repeat(200_000);
  const refused = `${toRefused(head(body.length))}${body}`;

  const answer = await raw(
    world.port,
    [refused, 'GET /things/a HTTP/1.1\r\nHost: a\r\n\r\n'],
    (received) => answersIn(received).length === 2,
  );

  assert.equal(pluck(answersIn(answer.text), 'status'), [401, 200]);
});

test('a request that is refused while its body arrives releases its memory', async () => {
  // The session look-up takes long enough for the first chunk of the body to arrive.
  const refused = toRefused(unfinished);
  const sockets: Socket[] = [];
  const answered = Array.from({ length: 2 * (openBodiesBytesMax / bytesMax) }, async () => {
    const { socket } = openSocket(world.port);
    sockets.push(socket);
    socket.write(refused);
    await once(socket, 'data');
  });
  await Promise.all(answered);

  assert.is(await askInTwoPieces(), 200);
  for (const socket of sockets) socket.destroy();
});

test.run();
