/**
 * When the client sends a request again, and when it leaves that to its caller: against a server that gives
 * the answers of a list, one after the other.
 */
import { spawn } from 'node:child_process';
import { getEventListeners, once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { close, listen } from '../support/loopback.ts';
import { until } from '../support/until.ts';
import { type BuiltClient, loadClient, toScriptUrl } from './built.ts';

/** `null` closes the connection without an answer; `silent` keeps it open. */
type Answer =
  | null
  | 'silent'
  | {
      readonly status: number;
      readonly seconds?: number;
      readonly location?: string;
      readonly context?: Record<string, string>;
    };

const test = suite('retries of the client');
let library: BuiltClient;
let server: Server;
let url: string;
let answers: Answer[] = [];
let requests: string[] = [];
let keys: unknown[] = [];

test.before(async () => {
  library = await loadClient();
  server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`);
    keys.push(request.headers['idempotency-key']);
    const answer = answers.length === 0 ? { status: 200 } : (answers.shift() as Answer);
    if (answer === null) {
      request.socket.destroy();
      return;
    }
    if (answer === 'silent') return;
    const { status, seconds, location, context = {} } = answer;
    response.writeHead(status, {
      ...(seconds === undefined ? {} : { 'retry-after': String(seconds) }),
      ...(location === undefined ? {} : { location }),
    });
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

test('so it is when a proxy says that it cannot reach the server', async () => {
  for (const status of [504, 522, 530])
    assert.equal(await send([{ status }], post), { sent: 2, failed: '' }, String(status));
  assert.equal(await send([{ status: 522 }], create), { sent: 1, failed: 'status_522' });
});

test('the error of a proxy says its status, also where its text is JSON', async () => {
  for (const text of ['<html>', 'null', '{"error":"gone"}']) {
    const fetch = async () => new Response(text, { status: 502 });
    try {
      await library.createClient({ url, fetch }).request(...create);
      assert.unreachable('the proxy answered with an error');
    } catch (error) {
      assert.equal(
        [(error as Error).message, (error as { code: string }).code],
        ['status 502', 'status_502'],
      );
    }
  }
});

test('a creation with a key is sent again with the same key', async () => {
  answers = [null, unknown];
  keys = [];
  await library.createClient({ url }).request(...create, { body: {}, idempotencyKey: 'k1' });

  assert.equal(keys, ['k1', 'k1', 'k1']);
});

test('what is no JSON, a wrong key and an address without a scheme are refused at once', async () => {
  requests = [];
  const { autopost, createClient, follow } = library;
  // A server may drop what stands at the ends: several keys would be one.
  const wrongKeys = [
    'order-ä',
    'ä',
    'or\u00e4der',
    'order\u00a0',
    ' order',
    'order ',
    '',
    'a\nb',
    'a\tb',
  ].map((idempotencyKey) => ({ body: {}, idempotencyKey }));
  for (const given of [{ body: { servers: 1n } }, { body: {}, idempotencyKey: '鍵' }, ...wrongKeys]) {
    const failure = await createClient({ url })
      .request(...post, given)
      .catch((error) => error);
    assert.equal([failure.name, requests], ['TypeError', []]);
  }
  for (const wrong of ['localhost:3000', 'directory.example']) {
    const refused = new RegExp(`^The url must begin with http:// or https://: ${wrong}$`);
    assert.throws(() => createClient({ url: wrong }), refused);
    assert.throws(() => autopost({ url: wrong, token: '', stats: () => ({}) }), refused);
    const following = follow({ url: wrong, targets: ['bot/1'] }).next();
    assert.match((await following.catch((error) => error)).message, refused);
  }
});

test('the log and the feed wait as long as the reply says, even for months', async () => {
  const gone = { ...refused, seconds: 9_999_999_999 };
  for (const read of ['log', 'follow'] as const) {
    answers = [gone, gone, gone];
    requests = [];
    const signal = AbortSignal.timeout(500);
    const { createClient, follow, log } = library;
    const target = { type: 'bot', id: '1' } as const;
    if (read === 'log') await log(createClient({ url }), target, { after: 'a.1', signal }).next();
    else await follow({ url, targets: ['bot/1'], signal }).next();

    assert.is(requests.length, 1, read);
  }
});

test('a request that has ended leaves nothing at the signal of its caller', async () => {
  const { signal } = new AbortController();
  answers = [limited];
  await library.createClient({ url }).request('GET', '/bots/1', { signal });

  assert.is(getEventListeners(signal, 'abort').length, 0);
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

test('an odd Retry-After names no time: the client waits as if there were none', async () => {
  for (const seconds of [-5, Number.NaN]) {
    const startedMs = performance.now();
    assert.equal(await send([{ ...refused, seconds }], post), { sent: 2, failed: '' });
    assert.ok(performance.now() - startedMs > 750, `it waited after Retry-After: ${seconds}`);
  }
});

test('it gives up after the most attempts', async () => {
  assert.equal(await send([refused, refused, refused], post, 2), { sent: 2, failed: 'overloaded' });
});

test('a post that is redirected fails and names the address; a read follows', async () => {
  for (const status of [301, 302, 303, 307, 308]) {
    const moved = { status, location: '/elsewhere' };
    assert.equal(await send([moved], post), { sent: 1, failed: 'redirected' });
    assert.equal(await send([moved], ['GET', '/bots/1']), { sent: 2, failed: '' });
  }
  answers = [{ status: 308, location: 'https://other.example/' }];
  const failure = await library
    .createClient({ url })
    .postStats({ servers: 1 })
    .catch((error: Error) => error);

  assert.is(failure.message, 'the directory redirects to https://other.example/: name that one as `url`');
});

test('an address may end with a slash', async () => {
  requests = [];
  await library.createClient({ url: `${url}/` }).request('GET', '/bots/1');
  await library.follow({ url: `${url}/`, targets: ['bot/1'], signal: AbortSignal.timeout(500) }).next();

  assert.equal(requests.slice(0, 2), ['GET /bots/1', 'GET /feed?targets=bot%2F1&channels=totals']);
});

test('without a reply the error says why, and has the cause', async () => {
  const gone = createServer();
  const closed = `http://127.0.0.1:${await listen(gone)}`;
  await close(gone);
  const failure = await library
    .createClient({ url: closed, attemptsMax: 1 })
    .request<Error & { cause: Error }>('GET', '/bots/1')
    .catch((error) => error);

  assert.match(failure.message, /^fetch failed: connect ECONNREFUSED 127\.0\.0\.1/);
  assert.is(failure.cause.cause.code, 'ECONNREFUSED');
});

/** The example of the README for SIGTERM, in a bot that would run on. */
const toBot = (): string => {
  const readme = readFileSync(new URL('../../http/client/README.md', import.meta.url), 'utf8');
  const [, example = ''] = /```js\nimport \{ autopost[^\n]*\n([\s\S]*?)```/.exec(readme) ?? [];
  return `import { autopost } from ${JSON.stringify(toScriptUrl())};
    const url = '${url}', token = 'rc_bot_1_x', client = { guilds: new Map() };
    setInterval(() => {}, 1_000);
    ${example}
`;
};

/** Starts that bot, sends SIGTERM while this list answers it. Resolves to its exit code and the seconds. */
const endBot = async (list: readonly Answer[]) => {
  answers = [...list];
  requests = [];
  const posted = new Promise((resolve) => server.once('request', resolve));
  const bot = spawn(process.execPath, ['--input-type=module', '-e', toBot()], { stdio: 'ignore' });
  const ended = once(bot, 'exit');
  await posted;
  const startedAtMs = Date.now();
  bot.kill('SIGTERM');
  const late = setTimeout(() => bot.kill('SIGKILL'), 20_000);
  const [code] = await ended;
  clearTimeout(late);
  return { code, seconds: (Date.now() - startedAtMs) / 1_000 };
};

test('a bot with the example of the README ends by SIGTERM, also without its directory', async () => {
  for (const list of [[], ['silent', 'silent'], [{ ...refused, seconds: 30 }, 'silent']] as const) {
    const { code, seconds } = await endBot(list);

    assert.is(code, 0);
    // Two seconds are promised; the rest is for a busy machine.
    assert.ok(seconds < 6, `${seconds} s`);
    assert.equal(requests, ['POST /bots/stats', 'POST /bots/stats']);
  }
});

/** Starts a process with this program, which may use `autopost`. */
const startBot = (text: string) => {
  const program = `import { autopost } from ${JSON.stringify(toScriptUrl())};\n${text}`;
  return spawn(process.execPath, ['--input-type=module', '-e', program], { stdio: 'ignore' });
};

test('an autoposter that waits to post again keeps no process alive', async () => {
  answers = [{ ...refused, seconds: 30 }];
  const startedMs = performance.now();
  const bot = startBot(`autopost({ url: '${url}', token: 'x', stats: () => ({ servers: 1 }) });`);
  const late = setTimeout(() => bot.kill('SIGKILL'), 20_000);
  const [code] = await once(bot, 'exit');
  clearTimeout(late);

  assert.is(code, 0);
  assert.ok(performance.now() - startedMs < 10_000);
});

test('an autoposter reports a client that it cannot read, and posts no zero for it', async () => {
  answers = [];
  requests = [];
  const client: { guilds: unknown } = { guilds: { fetch: () => [] } };
  const failures: Error[] = [];
  const onError = (error: unknown) => failures.push(error as Error);
  const options = { url, token: 'x', client, everyMs: 20, onError };
  const unread = library.autopost(options);
  await until('a failure', () => failures.length > 0);
  await unread.stop();
  assert.match(String(failures[0]), /The client has no guilds/);
  assert.equal(requests, []);

  client.guilds = new Map();
  const poster = library.autopost({ ...options, everyMs: 1_000_000 });
  await until('a post', () => requests.length > 0);
  await poster.post();
  client.guilds = null;
  failures.length = 0;
  await until('another failure', () => failures.length > 0, 20_000);
  await poster.stop();
  assert.throws(() => library.autopost({ url, token: 'x' }), /needs `client` or `stats`/);
});

test('an autoposter goes on when the clock is set back', async () => {
  answers = [];
  requests = [];
  const bot = startBot(`
    const read = Date.now;
    let backMs = 0;
    Date.now = () => read() - backMs;
    const stats = () => {
      setTimeout(() => (backMs += 3_600_000), 50);
      return { servers: 1 };
    };
    setInterval(() => {}, 1_000);
    autopost({ url: '${url}', token: 'rc_bot_1_x', stats, everyMs: 200 });`);
  await until('a third post', () => requests.length >= 3).finally(() => bot.kill('SIGKILL'));
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

test('nothing is sent after the abort, by a fetch that knows no signals either', async () => {
  const stop = new AbortController();
  let sent = 0;
  const fetch = async () => {
    sent++;
    setImmediate(() => stop.abort(new Error('enough')));
    return new Response('', { status: 503, headers: { 'retry-after': '30' } });
  };
  const request = library.createClient({ url, fetch }).request('GET', '/bots/1', { signal: stop.signal });
  const failure = await request.catch((error) => error);

  assert.equal([failure.message, sent], ['enough', 1]);
});

test('onHints gets what an edit says; what it throws is not sent again', async () => {
  const received: unknown[] = [];
  const headers = { 'x-listing-hints': 'long_cut' };
  const given = { url, fetch: async () => new Response(null, { status: 204, headers }) };
  const onHints = (...args: unknown[]): void => {
    received.push(args);
    throw new RangeError('mine');
  };
  const failure = await library
    .createClient({ ...given, onHints })
    .request('PATCH', '/bots/1/settings', { body: {} })
    .catch((error: Error) => error);

  assert.equal(received, [[['long_cut'], '/bots/1/settings']]);
  assert.instance(failure, RangeError);
});

test.run();
