/**
 * Replies without a body: one that is drawn says that it closes its connection, and does; no other.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { bareReplies } from '../../../http/server/bare-replies.ts';
import { raw, untilClosed } from '../raw.ts';
import { openWorld } from '../world.ts';

const test = suite('bare replies');
const world = await openWorld();
test.after(() => world.close());

const requestOf = (method: string): string => `${method} /things/a HTTP/1.1\r\nHost: a\r\n\r\n`;
/** After this the server closes the connection by itself. */
const last = 'GET /things/b HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n';

/** Sends the request, and another that closes. Resolves to the number of replies. */
const ask = async (method: string, draw: number): Promise<number> => {
  bareReplies.draw = () => draw;
  const { text, closed } = await raw(world.port, [requestOf(method), last], untilClosed);
  assert.ok(closed);
  return text.split('HTTP/1.1 ').length - 1;
};

for (const method of ['HEAD', 'OPTIONS']) {
  test(`${method}: a reply that is drawn says that it closes its connection, and does`, async () => {
    bareReplies.draw = () => 1 / 257;

    const { text, closed } = await raw(world.port, requestOf(method), untilClosed);

    assert.ok(closed);
    assert.match(text, /\r\nconnection: close\r\n/i);
  });

  test(`${method}: another keeps it`, async () => {
    assert.is(await ask(method, 1 / 256), 2);
  });
}

test('a reply with a body is never drawn', async () => {
  assert.is(await ask('GET', 0), 2);
});

test.run();
