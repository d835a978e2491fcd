/**
 * When the client sends a request again, and when it leaves that to its caller: against a server that gives
 * the answers of a list, one after the other.
 */
import { createServer, type Server } from 'node:http';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { close, listen } from '../support/loopback.ts';
import { type BuiltClient, loadClient } from './built.ts';

/** `null` closes the connection without an answer. */
type Answer = null | {
  readonly status: number;
  readonly seconds?: number;
  readonly context?: Record<string, string>;
};

const test = suite('retries of the client');
let library: BuiltClient;
let server: Server;
let url: string;
let answers: Answer[] = [];
let requests: string[] = [];

test.before(async () => {
  library = await loadClient();
  server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`);
    const answer = answers.length === 0 ? { status: 200 } : (answers.shift() as Answer);
    if (answer === null) {
      request.socket.destroy();
      return;
    }
    const { status, seconds, context = {} }: Exclude<Answer, null> = answer;
    response.writeHead(status, seconds === undefined ? {} : { 'retry-after': String(seconds) });
    response.end(JSON.stringify({ message: 'As listed.', context }));
  });
  url = `http://127.0.0.1:${await listen(server)}`;
});
test.after(() => close(server));

/** Sends one request; resolves to how often it was sent, and the code it failed with. */
const send = async (
  list: readonly Answer[],
  [method, path]: readonly [string, string],
  attemptsMax = 5,
): Promise<{ readonly sent: number; readonly failed: string }> => {
  answers = [...list];
  requests = [];
  const client = library.createClient({ url, attemptsMax });
  const failed = await client.request(method, path).then(
    () => '',
    (error) => error.code,
  );
  return { sent: requests.length, failed };
};

const post = ['POST', '/bots/stats'] as const;
const create = ['POST', '/teams'] as const;
const vote = ['PUT', '/users/1/bots/2/votes'] as const;
const unknown = { status: 503, seconds: 1, context: { code: 'deadline_passed', outcome: 'unknown' } };
const refused = { status: 503, seconds: 1, context: { code: 'overloaded', outcome: 'not_applied' } };
const limited = { status: 429, seconds: 1, context: { code: 'rate_limited' } };
const waiting = { status: 429, seconds: 9_000, context: { code: 'vote_wait' } };

test('after 429, and after 503 that changed nothing, every request is sent again', async () => {
  for (const request of [post, create, vote, ['GET', '/bots/1']] as const)
    assert.equal(await send([limited, refused], request), { sent: 3, failed: '' });
});

test('after an unknown outcome only what does no harm twice is sent again', async () => {
  assert.equal(await send([unknown], post), { sent: 2, failed: '' });
  assert.equal(await send([unknown], vote), { sent: 2, failed: '' });
  assert.equal(await send([unknown], create), { sent: 1, failed: 'deadline_passed' });
});

test('so it is after a lost connection', async () => {
  assert.equal(await send([null], post), { sent: 2, failed: '' });
  assert.equal(await send([null], create), { sent: 1, failed: 'unreachable' });
});

test('a wait between votes, a long Retry-After and every other error are left to the caller', async () => {
  assert.equal(await send([waiting], vote), { sent: 1, failed: 'vote_wait' });
  assert.equal(await send([{ ...refused, seconds: 3_600 }], post), { sent: 1, failed: 'overloaded' });
  assert.equal(await send([{ status: 404, context: { code: 'not_found' } }], post), {
    sent: 1,
    failed: 'not_found',
  });
  assert.equal(await send([{ status: 418 }], post), { sent: 1, failed: 'status_418' });
});

test('it gives up after the most attempts', async () => {
  assert.equal(await send([refused, refused, refused], post, 2), { sent: 2, failed: 'overloaded' });
});

test('a request ends when its signal aborts, also between two attempts', async () => {
  answers = [refused];
  const stop = new AbortController();
  const answered = new Promise((resolve) => server.once('request', resolve));
  const failed = library
    .createClient({ url })
    .request('GET', '/bots/1', { signal: stop.signal })
    .catch((error) => error);
  await answered;
  stop.abort(new Error('enough'));

  assert.is(((await failed) as Error).message, 'enough');
});

test.run();
