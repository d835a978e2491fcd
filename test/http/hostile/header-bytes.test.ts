/**
 * Bytes above 0x7F in headers: refused where a header must be ASCII, as far as the parser shows them, and no
 * fault elsewhere.
 *
 * The parser removes from both ends of a value each `char` below 33, as a blank. Where it is signed (x64),
 * so are bytes above 0x7F: they are gone before anything else sees them.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { addBot, addUser } from '../../storage/catalogue/directory.ts';
import { openWorld } from '../api/world.ts';
import { answersIn, raw } from '../raw.ts';

const test = suite('bytes above 0x7F in headers');
const isCutAtEnds = process.arch === 'x64';
const world = await openWorld();
await addUser(world.sql, 'robin');
await addBot(world.sql, 'bot1');
const user = await world.token('user', 'robin');
const bot = await world.token('bot', 'bot1');
test.after(() => world.close());

/** Latin-1, UTF-8, a blank of either, a byte-order mark, and the highest byte. */
const odd = ['\xe4', '\xc3\xa4', '\xa0', '\xc2\xa0', '\xe3\x80\x80', '\xef\xbb\xbf', '\xff'];

const send = async (start: string, headers: Readonly<Record<string, string>>, body = '') => {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const length = body === '' ? '' : `Content-Length: ${body.length}\r\n`;
  const bytes = `${start} HTTP/1.1\r\nHost: a\r\n${lines.join('')}${length}\r\n${body}`;
  const [answer] = answersIn((await raw(world.port, bytes)).text);
  const json = answer?.body ? JSON.parse(answer.body) : {};
  return {
    status: answer?.status,
    context: json.context ?? {},
    replayed: answer?.headers['idempotency-replayed'],
  };
};

let teams = 0;
const createTeam = (key: string, name = `Team of tests ${++teams}`) =>
  send('POST /teams', { 'User-Auth': user, 'Idempotency-Key': key }, JSON.stringify({ name }));
const vote = (proof: string) =>
  send('PUT /users/robin/bots/bot1/votes?upvote=true', { 'User-Auth': user, 'X-Vote-Proof': proof });
const post = (header: string, value: string) =>
  send('POST /bots/stats', { [header]: value }, '{"servers":1}');

test('a key with such a byte in its middle is a 400 that names the header', async () => {
  for (const byte of odd) {
    const { status, context } = await createTeam(`order${byte}7`);
    assert.equal([status, context.code, 'Idempotency-Key' in context], [400, 'validation_failed', true]);
  }
});

test(`a key with such a byte at an end is ${isCutAtEnds ? 'the key without it' : 'a 400'}`, async () => {
  const name = `Team of tests ${++teams}`;
  assert.is((await createTeam('order7-', name)).status, 201);
  for (const byte of odd) {
    for (const key of [`order7-${byte}`, `${byte}order7-`, `${byte} order7- ${byte}`]) {
      const { status, replayed } = await createTeam(key, name);
      assert.equal([status, replayed], isCutAtEnds ? [201, 'true'] : [400, undefined]);
    }
    assert.is((await createTeam(byte)).status, 400, 'nothing else');
  }
});

test('a proof with such a byte in its middle is a 400 that names the header', async () => {
  for (const byte of odd) {
    const { status, context } = await vote(`pro${byte}of`);
    assert.equal([status, context.code, 'X-Vote-Proof' in context], [400, 'validation_failed', true]);
  }
  if (!isCutAtEnds) assert.is((await vote('proof\xe4')).status, 400);
});

for (const header of ['Authorization', 'Bot-Auth', 'User-Auth', 'Server-Auth', 'Team-Auth']) {
  test(`${header} with such a byte is a 401 where a token is needed`, async () => {
    const kind = header === 'Authorization' ? 'Bot' : header.slice(0, -5);
    for (const byte of odd) {
      const middle = bot.length / 2;
      for (const value of [`${bot.slice(0, middle)}${byte}${bot.slice(middle)}`, `${kind} ${byte}${bot}`]) {
        const { status, context } = await post(header, value);
        assert.equal([status, context.code], [401, 'token_invalid']);
        assert.is((await send('GET /bots/bot1', { [header]: value })).status, 200, 'a public operation');
      }
    }
  });
}

test(`a token with such a byte at an end is ${isCutAtEnds ? 'the token' : 'a 401'}`, async () => {
  for (const byte of odd)
    assert.is((await post('Bot-Auth', `${bot}${byte}`)).status, isCutAtEnds ? 200 : 401);
});

test('such bytes in other headers are no fault', async () => {
  for (const byte of odd) {
    const headers = { 'User-Agent': `M${byte}ller`, Accept: `text/${byte}`, Origin: byte, 'X-Other': byte };
    assert.is((await send('GET /bots/bot1', headers)).status, 200);
    assert.is((await send('POST /bots/stats', { ...headers, 'Bot-Auth': bot }, '{"servers":1}')).status, 200);
  }
});

test.run();
