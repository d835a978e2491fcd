/**
 * Deceptive values: integers at the limit of a double, names of prototypes, codes that could redirect
 * elsewhere, forged addresses, tokens that are nearly right.
 */

import { randomBytes } from 'node:crypto';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { formatToken, parseToken } from '../../../engine/rules/token.ts';
import { addBot, addTeam, addUser } from '../../storage/catalogue/directory.ts';
import { openWorld } from '../api/world.ts';

const test = suite('hostile values');

const world = await openWorld({ trustedProxies: [] });
await addUser(world.sql, 'robin');
await addBot(world.sql, 'bot1');
await addBot(world.sql, 'visited');
const userToken = await world.token('user', 'robin');
const botToken = await world.token('bot', 'bot1');
test.after(() => world.close());

/** What is sent, and what is returned; `null` for 400. */
const integers: readonly [string, string | null][] = [
  ['0', '0'],
  ['-0', '0'],
  ['1e3', '1000'],
  ['1.0', '1'],
  ['9007199254740991', '9007199254740991'],
  ['9007199254740992', '9007199254740992'],
  ['9007199254740993', '9007199254740993'],
  ['9223372036854775807', '9223372036854775807'],
  ['9223372036854775808', '9223372036854775808'],
  ['18446744073709551615', '18446744073709551615'],
  ['18446744073709551616', '18446744073709551616'],
  ['18446744073709551999', '18446744073709551999'],
  ['18446744073709552000', '18446744073709552000'],
  ['1.8446744073709552e19', '18446744073709552000'],
  ['9007199254740993.0', '9007199254740993'],
  ['18446744073709552001', null],
  ['18446744073709552000.5', null],
  ['9007199254740993.5', null],
  ['99999999999999999999', null],
  ['100000000000000000000', null],
  ['-1', null],
  ['-9223372036854775808', null],
  ['1.5', null],
  ['1e-1', null],
  ['1e400', null],
  ['-1e400', null],
  ['9'.repeat(400), null],
  ['9'.repeat(380_000), null],
  [`0.${'0'.repeat(380_000)}1e380001`, '1'],
  ['"5"', null],
  ['""', null],
  ['null', null],
  ['true', null],
  ['[5]', null],
  ['+5', null],
  ['05', null],
  ['5.', null],
  ['.5', null],
  ['0x10', null],
  ['1_000', null],
  ['Infinity', null],
  ['NaN', null],
  ['٥', null],
];
const fields = ['servers', 'users', 'shards'] as const;
test('an integer is returned exactly, or is refused and changes nothing', async () => {
  const held: Record<string, string> = { servers: '0', users: '0', shards: '0' };
  for (const [index, [sent, shown]] of integers.entries()) {
    const field = fields[index % fields.length] as string;
    const reply = await world.ask('POST', '/bots/stats', { token: botToken, text: `{"${field}":${sent}}` });
    assert.is(reply.status, shown === null ? 400 : 200, sent.slice(0, 40));
    if (shown !== null) held[field] = shown;
    const { text } = await world.ask('GET', '/bots/bot1');
    for (const name of fields) assert.match(text, `"${name}":${held[name]},`, sent.slice(0, 40));
  }
});

test('integers of a list are returned exactly, in order', async () => {
  const list = '[9007199254740993,0,18446744073709552000,1,9223372036854775809]';

  const reply = await world.ask('POST', '/bots/stats', { token: botToken, text: `{"shard_list":${list}}` });

  assert.is(reply.status, 200);
  assert.match((await world.ask('GET', '/bots/bot1')).text, `"shard_list":${list}`);
});

test('names of prototypes are treated like any other text, in maps and in lists of fields', async () => {
  const long = 'x'.repeat(50);
  const names = ['constructor', 'prototype', 'toString', 'hasOwnProperty', 'valueOf', 'then'];
  const strange = names.map((name) => `"${name}":"${long}"`).join(',');
  const answers = `{"__proto__":"${long}",${strange},"project":"${long}","idea":"${long}","link":"words"}`;
  const body = `{"position":"partners","answers":${answers},"__proto__":{"admin":true},"constructor":1}`;

  const sent = await world.ask('POST', '/users/robin/apps', { token: userToken, text: body });
  const { apps } = (await world.ask('GET', '/users/robin/apps', { token: userToken })).json;

  assert.is(sent.status, 204, sent.text);
  assert.equal(Object.keys(apps[0].answers).sort(), ['idea', 'link', 'project']);
  assert.is(({} as { admin?: boolean }).admin, undefined);
  for (const name of [...names, '__proto__']) {
    const position = { position: name, answers: {} };
    const reply = await world.ask('POST', '/users/robin/apps', { token: userToken, body: position });
    assert.is(reply.status, 400, name);
    assert.is((await world.ask('GET', `/bots/${name}`)).status, 404, name);
    assert.is((await world.ask('GET', `/${name}/bot1/votes/user-list`)).status, 400, name);
    const tested = { auth_type: name, target_id: name, token: name };
    assert.is((await world.ask('POST', '/auth/test', { body: tested })).status, 400, name);
  }
});

const leading = [
  '//evil.example',
  '\\\\evil.example',
  'https:evil.example',
  '/evil',
  '?x#y',
  '@evil.example',
  'javascript:alert(1)',
  'a b',
  'é\u2028',
  '%2f%2fevil',
];
test('a vanity code redirects to a path of this server, for any id in the directory', async () => {
  for (const [index, id] of leading.entries()) {
    await addBot(world.sql, id);
    const code = `leads-${index}`;
    await world.sql`update vanity set code = ${code} where target_type = 'bot' and target_id = ${id}`;

    const { status, headers } = await world.ask('GET', `/@${code}`);
    const location = headers.get('location') ?? '';
    const there = new URL(location, 'https://here.example');

    assert.is(status, 302);
    assert.is(location, `/bots/${encodeURIComponent(id)}`);
    assert.is(there.origin, 'https://here.example');
    const found = await world.ask('GET', location);
    // An encoded slash matches nothing.
    assert.is(id.includes('/') ? found.status : found.json.bot_id, id.includes('/') ? 404 : id);
  }
});

test('codes that could redirect elsewhere do not exist, and no header repeats them', async () => {
  for (const code of [
    '//evil.example',
    '\\evil',
    '%0d%0aLocation:%20x',
    '%2f%2fevil',
    'https:other.example',
  ]) {
    const { status, headers } = await world.ask('GET', `/@${code}`);
    assert.is(status, 404, code);
    assert.is(headers.get('location'), null);
  }
});

test('a thousand forged addresses are one visitor when no proxy is trusted', async () => {
  for (let first = 0; first < 1_000; first += 50) {
    await Promise.all(
      Array.from({ length: 50 }, (_, index) => {
        const forged = `203.0.${(first + index) >> 8}.${(first + index) & 255}`;
        const headers = { 'x-forwarded-for': forged, forwarded: `for=${forged}`, 'x-real-ip': forged };
        return world.ask('GET', '/bots/visited?target=page', { headers });
      }),
    );
  }
  let bot = (await world.ask('GET', '/bots/visited')).json;
  for (let look = 0; look < 500 && bot.clicks < 1_000; look++) {
    await new Promise((resolve) => setTimeout(resolve, 10));
    bot = (await world.ask('GET', '/bots/visited')).json;
  }

  assert.equal([bot.clicks, bot.unique_clicks], [1_000, 1]);
});

test('the reply to a token that is nearly right reveals only what its checksum reveals', async () => {
  await addTeam(world.sql, 'team1');
  const expired = await world.token('bot', 'bot1', { lastsSeconds: -10 * 86_400 });
  const team = await world.token('team', 'team1');
  const last = userToken.slice(-1) === 'A' ? 'B' : 'A';
  const unknown = formatToken({ kind: 'bot', id: 'bot1' }, randomBytes(32));
  const answers = { whole: new Set<string>(), broken: new Set<string>() };
  for (const token of [
    'x',
    'rc_bot_bot1_',
    userToken.slice(0, -1) + last,
    botToken.replace('bot1', 'bot2'),
    expired,
    unknown,
    botToken.toLowerCase(),
    `${botToken}=`,
  ]) {
    const { status, headers, json } = await world.ask('POST', '/bots/stats', { token, body: {} });
    const { request_id: _, ...context } = json.context;
    const group = parseToken(token) === null ? answers.broken : answers.whole;
    group.add(JSON.stringify([status, headers.get('x-session-invalid'), json.message, context]));
    const tested = { auth_type: 'bot', target_id: 'bot1', token };
    const answer = await world.ask('POST', '/auth/test', { body: tested });
    assert.equal(answer.json, {
      authorized: false,
      banned: false,
      data: {},
      id: 'bot1',
      target_type: 'bot',
    });
  }
  for (const [auth_type, target_id, token] of [
    ['bot', 'bot2', botToken],
    ['user', 'bot1', botToken],
    ['user', 'robin', team],
    ['bot', 'robin', userToken],
    ['bot', 'bot1', `User ${botToken}`],
  ]) {
    const { json } = await world.ask('POST', '/auth/test', { body: { auth_type, target_id, token } });
    assert.equal(json, { authorized: false, banned: false, data: {}, id: target_id, target_type: auth_type });
  }

  for (const same of [answers.whole, answers.broken]) {
    assert.is(same.size, 1, [...same].join('\n'));
    assert.match([...same][0] ?? '', /^\[401,"true",/);
  }
});

test('a replay of numbers and times that no log has → 400', async () => {
  const body = { name: 'x', url: 'https://example.org/' };
  const { json } = await world.ask('POST', '/bots/bot1/webhooks', { token: userToken, body });
  const until = '"until":"2026-03-02T00:00:00Z"';
  const refused = [
    '{"number":9223372036854775807}',
    '{"number":1e300}',
    '{"from_number":9223372036854775800,"to_number":9223372036854775807}',
    `{"since":"2016-12-31T23:59:60Z",${until}}`,
    `{"since":"0000-01-01T00:00:00Z",${until}}`,
    '{"since":"2026-03-01T00:00:00Z","until":"9999-12-31T23:59:59-23:59"}',
  ];
  for (const text of refused) {
    const reply = await world.ask('POST', `/bots/bot1/webhooks/${json.id}/replay`, {
      token: userToken,
      text,
    });
    assert.equal([reply.status, reply.json.context.code], [400, 'validation_failed'], text);
  }
});

test.run();
