/**
 * An event stream on the wire: every event is in chunks that are complete when it arrives, so clients that
 * read whole chunks get it at once; and a stream that the server ends has its last chunk.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { addBot, addUser } from '../../storage/catalogue/directory.ts';
import { until } from '../../support/until.ts';
import { openWorld, type World } from '../api/world.ts';
import { openSocket as openRaw } from '../raw.ts';

const test = suite('chunks of an event stream');
let world: World;

// Each has a world of its own: a case ends the feed.
test.before.each(async () => {
  world = await openWorld({ feed: { feedConnectionsMax: 2 } });
  await addUser(world.sql, 'robin');
  for (const bot of ['bot1', 'bot2']) await addBot(world.sql, bot);
});
test.after.each(() => world.close());

interface Chunks {
  /** The data of all whole chunks. */
  readonly data: string;
  /** What is behind the last whole one. */
  readonly rest: string;
  /** The chunk of length 0 came. */
  readonly isEnded: boolean;
}

/** Reads the chunks of a reply as RFC 9112 has them. Throws for what is none. */
const readChunks = (text: string): Chunks => {
  let rest = text.slice(text.indexOf('\r\n\r\n') + 4);
  let data = '';
  for (;;) {
    const [head, digits = ''] = /^([0-9a-f]+)\r\n/i.exec(rest) ?? [];
    if (head === undefined) return { data, rest, isEnded: false };
    const size = Number.parseInt(digits, 16);
    const end = head.length + size;
    if (rest.length < end + 2) return { data, rest, isEnded: false };
    assert.is(rest.slice(end, end + 2), '\r\n', 'a chunk ends with a line break');
    data += rest.slice(head.length, end);
    rest = rest.slice(end + 2);
    if (size === 0) return { data, rest, isEnded: true };
  }
};

const open = (bot: string) => {
  const raw = openRaw(world.port);
  raw.socket.write(`GET /feed?targets=bot/${bot} HTTP/1.1\r\nHost: a\r\n\r\n`);
  return raw;
};
const waitFor = (raw: ReturnType<typeof open>, words: string) =>
  until(words, () => raw.text().includes(words));

test('each event is in whole chunks when it arrives', async () => {
  const raw = open('bot1');
  await waitFor(raw, '"servers":0');
  for (const servers of [5, 6, 7]) {
    await world.engine.postStats('bot1', { servers: String(servers) });
    await waitFor(raw, `"servers":${servers}`);
    const { data } = readChunks(raw.text());

    assert.match(data, new RegExp(`"servers":${servers},.*\n\n`));
  }
  raw.socket.destroy();
});

for (const [reason, end] of [
  [
    'gone',
    async () => {
      await world.sql`update bots set type = 'denied', revision = revision + 1 where bot_id = 'bot2'`;
      await world.engine.refreshFacts('bot', 'bot2');
    },
  ],
  ['restart', () => world.app.feed.leave()],
] as const) {
  test(`a stream that the server ends (${reason}) has its last chunk, and the connection stays`, async () => {
    const raw = open(reason === 'gone' ? 'bot2' : 'bot1');
    let isClosed = false;
    raw.socket.once('close', () => {
      isClosed = true;
    });
    await waitFor(raw, 'event: totals');
    await end();
    await waitFor(raw, 'event: bye');
    await until('the end', () => isClosed || readChunks(raw.text()).isEnded);
    const { data, rest, isEnded } = readChunks(raw.text());

    assert.equal([isEnded, isClosed, rest], [true, false, '']);
    assert.match(data, new RegExp(`retry: \\d+\nevent: bye\ndata: \\{"reason":"${reason}".*\n\n`));
    raw.socket.destroy();
  });
}

test.run();
