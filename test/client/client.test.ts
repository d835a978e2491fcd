/**
 * The client library, built as it is served, against a complete Rollcall: posts, votes, the log, webhooks,
 * and every example of its README.
 */
import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { ReceivedEvent } from '../../http/client/receive.ts';
import { buildClientTypes, type TypedDocument } from '../../http/openapi/client-types.ts';
import {
  createWebhookSecret,
  toWebhookBody,
  toWebhookHeaders,
} from '../../http/outbound/webhooks/formats.ts';
import type { WebhookEvent } from '../../http/outbound/webhooks/stored-event.ts';
import { openWorld, type World } from '../http/api/world.ts';
import { upvote } from '../http/outbound/webhooks/sample-events.ts';
import { addBot, addUser } from '../storage/catalogue/directory.ts';
import { until } from '../support/until.ts';
import { type BuiltClient, clientScript, loadClient } from './built.ts';

const test = suite('client');
let world: World;
let library: BuiltClient;
let url: string;
let token: string;

test.before(async () => {
  world = await openWorld();
  library = await loadClient();
  url = `http://127.0.0.1:${world.port}`;
  for (const user of ['robin', 'ann', 'ben']) await addUser(world.sql, user);
  for (const bot of ['bot1', 'bot2', 'bot3', 'bot4']) await addBot(world.sql, bot);
  token = await world.token('bot', 'bot1');
});
test.after(() => world.close());

const readText = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
const vote = async (user: string, bot: string): Promise<void> => {
  const answer = await world.ask('PUT', `/users/${user}/bots/${bot}/votes?upvote=true`, {
    token: await world.token('user', user),
  });
  assert.is(answer.status, 204);
};

test('it is at most 6.9 KB with gzip, and imports nothing', () => {
  assert.ok(gzipSync(clientScript).length <= 7_065, String(gzipSync(clientScript).length));
  assert.not.match(clientScript, /^import\b|\brequire\(/m);
  // The only one, for Node 18, is not for bundlers: webpack would replace it by an error.
  assert.equal(clientScript.match(/\bimport\(.*?(?=moduleName)/g), [
    'import(/* webpackIgnore: true */ /* @vite-ignore */ ',
  ]);
});

test('its types are those of docs/openapi.json (npm run document writes them)', () => {
  const document: TypedDocument = JSON.parse(readText('docs/openapi.json'));

  assert.is(readText('http/client/types.ts'), buildClientTypes(document));
});

test('a token with a line break is refused with words that do not show it', async () => {
  for (const wrong of ['Secr3t\nsecond', 'Secr3t second', 'Secr3té', '\u00a0Secr3t', 'Secr3t\u2028'])
    assert.throws(
      () => library.createClient({ url, token: wrong }),
      (error: Error) => /^The token has a blank/.test(error.message) && !error.message.includes('Secr3t'),
    );
  assert.ok(library.createClient({ url, token: `${token}\n` }));
});

test('/docs/client.js is this file', async () => {
  const served = await fetch(`${url}/docs/client.js`);

  assert.is(await served.text(), clientScript);
  assert.match(served.headers.get('content-type') ?? '', /^text\/javascript/);
});

test('it posts stats and checks a vote', async () => {
  const client = library.createClient({ url, token });
  await vote('ann', 'bot1');
  const posted = await client.postStats({ servers: 7 });
  const voted = await client.checkVote('ann', 'bot1');
  const other = await client.checkVote('ben', 'bot1');

  assert.is(posted.message, 'Stats recorded.');
  assert.equal([voted.has_voted, other.has_voted], [true, false]);
});

test('postStats takes numbers in the words of the SDK of top.gg', async () => {
  const client = library.createClient({ url: `${url}/`, token: await world.token('bot', 'bot4') });
  await client.postStats({ serverCount: 8, shardCount: 2 });
  const whole = (await world.ask('GET', '/bots/bot4')).json;
  for (const shardId of [0, 1]) await client.postStats({ serverCount: 5, shardId, shardCount: 2 });
  const { json } = await world.ask('GET', '/bots/bot4');

  assert.equal([whole.servers, whole.shards], [8, 2]);
  assert.equal([json.servers, json.shards, json.shard_list], [10, 2, [5, 5]]);
});

test('a boolean is no number: it is refused unsent, and adds no user', async () => {
  const client = library.createClient({ url, token });
  const wrong = true as unknown as number;
  const posts = [
    () => client.postStats({ servers: wrong }),
    () => client.postStats({ serverCount: wrong }),
    () => client.postStats({ shard_list: [1, wrong] }),
    () => client.postShards({ shard_count: 2, shards: [{ id: wrong, servers: 1 }] }),
  ];
  for (const post of posts) {
    const failure = await post().catch((error) => error);
    assert.match(failure.message, /^\w+ must be a number\.$/);
  }
  const odd = library.readShards({ guilds: new Map([['1', { memberCount: true }]]) });
  assert.equal(odd.shards, [{ id: 0, servers: 1, users: 0 }]);
});

test('CSV, badges and guides come as their text', async () => {
  const client = library.createClient({ url, attemptsMax: 1 });
  const csv = '/bots/bot1/history?metrics=clicks&step=1d&format=csv';

  assert.match(await client.request<string>('GET', csv), /^time,clicks\r\n/);
  assert.match(await client.request<string>('GET', '/badges/bots/bot1/servers.svg'), /^<svg /);
  assert.match(await client.request<string>('GET', '/docs/client.md'), /^# rollcall-client\n/);
});

test('an error has the status, the code and the context of the reply', async () => {
  const failure = await library
    .createClient({ url, token: 'rc_bot_1_wrong' })
    .postStats({ servers: 1 })
    .catch((error) => error);

  assert.instance(failure, library.DirectoryError);
  assert.equal([failure.status, failure.code], [401, 'token_invalid']);
  assert.ok(failure.context.request_id);
});

test('the log yields every vote once, and goes on from a kept cursor', async () => {
  const client = library.createClient({ url });
  const target = { type: 'bot', id: 'bot2' } as const;
  await vote('ann', 'bot2');
  const first = await library.log(client, target, { after: 'oldest' }).next();
  const cursor = first.value?.cursor ?? '';
  const next = library.log(client, target, { after: cursor }).next();
  await vote('ben', 'bot2');
  const second = await next;

  assert.equal(
    [first.value?.votes.map(({ author }) => author), second.value?.votes.map(({ author }) => author)],
    [['ann'], ['ben']],
  );
});

test('the log goes on with the oldest vote of a log that began again', async () => {
  const client = library.createClient({ url });
  const page = await library.log(client, { type: 'bot', id: 'bot2' }, { after: '0-zz.1' }).next();

  assert.is(page.value?.restarted, true);
  assert.is(page.value?.votes.length, 2);
});

test('the log ends when its signal aborts, also while it waits', async () => {
  const stop = new AbortController();
  const pages = library.log(
    library.createClient({ url }),
    { type: 'bot', id: 'bot3' },
    { signal: stop.signal },
  );
  const next = pages.next();
  stop.abort();

  assert.equal(await next, { done: true, value: undefined });
});

test('it follows totals and votes, and misses no vote while it is away', async () => {
  const stop = new AbortController();
  const target = { url, targets: ['bot/bot4'], channels: ['totals', 'votes'] as const, signal: stop.signal };
  const first = library.follow(target);
  const totals = (await first.next()).value;
  await vote('ann', 'bot4');
  let id = '';
  for await (const message of first) {
    id = message.id;
    if (message.event === 'vote') break;
  }
  await vote('ben', 'bot4');
  const missed: unknown[] = [];
  for await (const { event, data } of library.follow({ ...target, lastEventId: id })) {
    if (event === 'vote') missed.push(data.author);
    if (missed.length === 1) stop.abort();
  }

  assert.equal([totals?.event, totals?.data.target], ['totals', 'bot/bot4']);
  assert.equal(missed, ['ben']);
});

test('what cannot be followed is an error', async () => {
  const refused = library.follow({ url, targets: ['bot/none'] }).next();
  const failure = await refused.catch((error) => error);

  assert.equal([failure.status, failure.code], [404, 'not_found']);
});

test('processes post their own shards, and the directory adds them up', async () => {
  const own = await world.token('bot', 'bot3');
  const posters = [0, 1].map((id) =>
    library.autopost({ url, token: own, client: buildDiscordJs([id], 2), cluster: `process-${id}` }),
  );
  for (const poster of posters) await poster.post();
  const { json } = await world.ask('GET', '/bots/bot3');
  for (const poster of posters) await poster.stop();
  const shards = await world.ask('GET', '/bots/bot3/shards');
  const after = await world.ask('GET', '/bots/bot3');

  assert.equal([json.servers, json.shards, json.shard_list, json.users], [6, 2, [3, 3], 60]);
  assert.equal(
    shards.json.shards.map(({ cluster, status }: Record<string, string>) => [cluster, status]),
    [
      ['process-0', 'offline'],
      ['process-1', 'offline'],
    ],
  );
  assert.is(after.json.servers, 6, 'the numbers stay');
});

/** Three guilds of ten members on each of these shards. */
const buildGuilds = (ids: readonly number[], toShard: (id: number) => object) =>
  new Map(
    ids.flatMap((id) =>
      [1, 2, 3].map((each) => [`${id}-${each}`, { memberCount: 10, ...toShard(id) }] as const),
    ),
  );
const buildDiscordJs = (ids: readonly number[], count: number) => ({
  guilds: { cache: buildGuilds(ids, (shardId) => ({ shardId })) },
  shard: { ids, count },
  ws: { shards: new Map(ids.map((id) => [id, {}])) },
  options: { shardCount: count },
  isReady: () => true,
});
/** The same client during an outage: discord.js marks its guilds, eris moves them away. */
const outages: readonly ((client: ReturnType<typeof buildDiscordJs>) => object)[] = [
  (client) => {
    const hide = ([id, { shardId }]: [string, object & { shardId?: number }]) =>
      [id, { shardId, available: false }] as const;
    return { ...client, guilds: { cache: new Map([...client.guilds.cache].map((each) => hide(each))) } };
  },
  (client) => ({
    ...client,
    guilds: new Map(),
    unavailableGuilds: new Map([...client.guilds.cache.keys()].map((id) => [id, {}])),
  }),
];

test('guilds that an outage hides keep their last users and their shard', async () => {
  const own = await world.token('bot', 'bot2');
  for (const toHidden of outages) {
    const client = buildDiscordJs([0, 1], 2);
    const poster = library.autopost({ url, token: own, client });
    await poster.post();
    Object.assign(client, toHidden(client));
    await poster.post();
    const { json } = await world.ask('GET', '/bots/bot2');
    await poster.stop();

    assert.equal([json.servers, json.shard_list, json.users], [6, [3, 3], 60]);
  }
});

const three = (ids: readonly number[]) => ids.map((id) => ({ id, servers: 3, users: 30 }));

test('it reads the clients of discord.js, eris, oceanic.js and hybrid sharding', () => {
  const ids = [2, 3];
  const shards = new Map(ids.map((id) => [id, {}]));
  const guilds = buildGuilds(ids, (id) => ({ shard: { id } }));
  const hybrid = {
    ...buildDiscordJs(ids, 2),
    shard: null,
    cluster: { info: { TOTAL_SHARDS: 8, SHARD_LIST: ids } },
  };
  const clients: [object, number][] = [
    [buildDiscordJs(ids, 8), 8],
    [{ guilds, shards, options: { maxShards: 8 }, ready: true }, 8],
    [{ guilds, shards: Object.assign(new Map(shards), { options: { maxShards: 8 } }), ready: true }, 8],
    [hybrid, 8],
  ];

  for (const [client, shardCount] of clients)
    assert.equal(library.readShards(client), { shardCount, shards: three(ids) });
  assert.equal(library.readShards({ ...buildDiscordJs([0], 1), shard: null }), {
    shardCount: 1,
    shards: three([0]),
  });
});

test('the autoposter never throws into the bot: failures go to onError', async () => {
  const failed = new Promise((resolve) => {
    const stats = () => Promise.reject(new Error('no numbers'));
    const poster = library.autopost({ url, token, stats, onError: (error) => resolve({ error, poster }) });
  });
  const { error, poster } = (await failed) as { error: Error; poster: { stop(): Promise<void> } };
  await poster.stop();

  assert.is(error.message, 'no numbers');
});

const secret = createWebhookSecret();
const body = toWebhookBody('standard', upvote) ?? '';
const sign = (sentAtSeconds: number, by = secret) =>
  toWebhookHeaders({ format: 'standard', id: upvote.id, sentAtSeconds, body, secrets: [by] });
/** The compiler checks here that the library's types have every event that the server sends. */
const toReceived = (event: WebhookEvent): ReceivedEvent => event;
const toCapitals = (headers: Record<string, string>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toUpperCase(), value]));
const nowSeconds = Math.floor(Date.now() / 1_000);

test('receive returns the event of a genuine request, in both forms', async () => {
  const headers = sign(nowSeconds);
  const asRequest = new Request('http://127.0.0.1/', { method: 'POST', headers, body });

  const events = [
    await library.receive({ headers, body }, secret),
    await library.receive({ headers, body: Buffer.from(body) }, [createWebhookSecret(), secret]),
    await library.receive(asRequest, secret),
    await library.receive({ headers: toCapitals(headers), body }, secret),
  ];

  for (const event of events) assert.equal(event, toReceived(upvote));
});

test('receive refuses what is forged, changed, too old or unsigned', async () => {
  const headers = sign(nowSeconds);
  const forged = [
    { headers, body: body.replace('98', '99') },
    { headers: { ...headers, 'webhook-id': 'another' }, body },
    { headers: sign(nowSeconds - 600), body },
    { headers: sign(nowSeconds, createWebhookSecret()), body },
    { headers: { ...headers, 'webhook-signature': 'v1,***' }, body },
    { headers: {}, body },
  ];

  for (const request of forged) {
    const failure = await library.receive(request, secret).catch((error) => error);
    assert.instance(failure, library.SignatureError);
  }
});

test('receive says when the body was parsed before', async () => {
  const parsed = { headers: sign(nowSeconds), body: JSON.parse(body) };
  const failure = await library.receive(parsed, secret).catch((error) => error);

  assert.match(failure.message, /^The body was parsed before/);
});

const examples = [...readText('http/client/README.md').matchAll(/```js\n([\s\S]*?)```/g)].map(
  ([, code = '']) => code,
);
const AsyncFunction: FunctionConstructor = Object.getPrototypeOf(async () => {}).constructor;

/** Runs an example with these variables; resolves to what it printed. */
const runExample = async (code: string): Promise<string> => {
  const printed: string[] = [];
  const console = { log: (...values: unknown[]) => printed.push(values.map(String).join(' ')) };
  const ended: (() => unknown)[] = [];
  const process = { once: (_: string, end: () => unknown) => ended.push(end), exit: () => undefined };
  const headers = sign(nowSeconds);
  const send = (text: string) => new Request('http://127.0.0.1/', { method: 'POST', headers, body: text });
  const variables = {
    ...library,
    ...{ url, token, userId: 'ann', botId: 'bot1', kept: 'oldest', secret, console, process },
    ...{ client: buildDiscordJs([0], 1), genuine: send(body), forged: send(`${body} `) },
  };
  const run = new AsyncFunction(...Object.keys(variables), code.replace(/^import .*$/gm, ''));
  await run(...Object.values(variables));
  for (const end of ended) await end();
  return printed.join('\n');
};

test('every example of the README runs, and they use everything that is exported', async () => {
  // A wait is rounded up to seconds, so in the first second after a vote it has the next hour.
  const client = library.createClient({ url, token });
  await until(
    'a second after the vote',
    async () => (await client.checkVote('ann', 'bot1')).wait.hours === 11,
  );
  const printed: string[] = [];
  for (const code of examples) printed.push(await runExample(code));

  assert.equal(printed, [
    '',
    '1 [object Object]',
    'true 11 1234',
    'true 401 token_invalid',
    'ann voted up',
    '1234',
    `${upvote.data.user.username} voted, ${upvote.id}\n204 401`,
  ]);
  const imported = examples.flatMap((code) => /^import \{ (.*) \}/m.exec(code)?.[1]?.split(', ') ?? []);
  assert.equal([...new Set(imported)].sort(), Object.keys(library).sort());
});

test.run();
