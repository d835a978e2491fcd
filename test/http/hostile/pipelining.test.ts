/**
 * Many requests in one write: at most 16 of them are processed, replies keep the order of the requests, and
 * other clients are not affected. test/faults measures how long those wait.
 */
import { connect } from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { pipelinedMax } from '../../../http/server/pipeline-limit.ts';
import { corkBytesMax } from '../../../http/server/uws-send.ts';
import { answersIn, raw, untilClosed } from '../raw.ts';
import { ask, openWorld } from '../world.ts';

const test = suite('hostile pipelining');
const world = await openWorld();
test.after(() => world.close());

const get = (id: number): string => `GET /things/${id} HTTP/1.1\r\nHost: a\r\n\r\n`;
const gets = (count: number): string => Array.from({ length: count }, (_, id) => get(id)).join('');
const idsIn = (text: string): number[] => answersIn(text).map(({ body }) => Number(JSON.parse(body).id));
const inOrder = (count: number): number[] => Array.from({ length: count }, (_, id) => id);

test('16 requests in one write are all answered, in order', async () => {
  const answer = await raw(world.port, gets(pipelinedMax), (text) => answersIn(text).length === pipelinedMax);

  assert.equal(idsIn(answer.text), inOrder(pipelinedMax));
});

test('of 500 requests in one write at most 16 are processed, then the connection closes', async () => {
  world.seen.length = 0;

  const answer = await raw(world.port, gets(500), untilClosed, 10_000);

  assert.ok(answer.closed);
  const ids = idsIn(answer.text);
  assert.equal(ids, inOrder(ids.length));
  assert.ok(world.seen.length <= pipelinedMax, `${world.seen.length} were worked on`);
});

test('refusals count as well: of 500 unknown paths at most 16 are answered', async () => {
  world.answered.length = 0;

  const answer = await raw(
    world.port,
    'GET /nothing HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(500),
    untilClosed,
    10_000,
  );

  assert.ok(answer.closed);
  assert.ok(world.answered.length <= pipelinedMax, `${world.answered.length} were answered`);
});

test('50 connections of 500 requests each: at most 16 of each are processed', async () => {
  world.seen.length = 0;

  const answers = await Promise.all(
    Array.from({ length: 50 }, () => raw(world.port, gets(500), untilClosed, 10_000)),
  );

  assert.ok(answers.every(({ closed }) => closed));
  assert.ok(world.seen.length <= 50 * pipelinedMax, `${world.seen.length} were worked on`);
});

test('300 clients with one request each, all at once, are all answered, again and again', async () => {
  for (let round = 0; round < 3; round++) {
    const replies = await Promise.all(
      Array.from({ length: 300 }, (_, id) => ask(world, 'GET', `/things/${id}`)),
    );
    assert.equal(
      replies.map(({ json }) => Number(json.id)),
      inOrder(300),
    );
  }
});

test('a client that waits for each answer is never cut off, on one connection', async () => {
  const socket = connect(world.port, '127.0.0.1');
  let text = '';
  let count = 0;
  await new Promise<void>((resolve, reject) => {
    socket.on('close', () => reject(new Error(`closed after ${count} answers`)));
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1');
      if (answersIn(text).length === 0) return;
      text = '';
      count += 1;
      if (count === 1_000) resolve();
      else socket.write(get(count));
    });
    socket.write(get(0));
  });
  socket.removeAllListeners('close');
  socket.destroy();

  assert.is(count, 1_000);
});

test('nothing behind a request that asks to close the connection is worked on', async () => {
  for (const lines of ['Connection: close', 'Connection: TE, close', 'Connection: TE\r\nConnection: close']) {
    world.seen.length = 0;

    const { closed } = await raw(
      world.port,
      get(1).replace('Host: a', `Host: a\r\n${lines}`) + get(2),
      untilClosed,
    );

    assert.equal([closed, world.seen.length], [true, 1], lines);
  }
});

test('of large replies to requests in one read none is begun, also when a promise comes first', async () => {
  const { port } = world;
  const request = 'GET /openapi.json HTTP/1.1\r\nHost: a\r\n\r\n';
  const [body = ''] = answersIn((await raw(port, request)).text).map((answer) => answer.body);
  assert.ok(body.length > corkBytesMax);

  const { text, closed } = await raw(port, request.repeat(2), untilClosed);

  assert.equal({ bytes: text.length, closed }, { bytes: 0, closed: true });
});

test.run();
