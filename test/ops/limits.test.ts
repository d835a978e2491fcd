/**
 * The operator's caps and rate limits on a whole node: each setting takes effect for clients.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { openWorld } from '../world.ts';

const test = suite('limits of the operator');
const rates = { LOGINS: 2, BOT_CREATIONS: 3, BOT_META: 4, AUTH_TESTS: 6 };

const perMinute = Object.entries(rates).map(([name, value]) => [`${name}_PER_MINUTE`, String(value)]);
const world = await openWorld({
  settings: {
    ...Object.fromEntries(perMinute),
    STATS_POSTS_PER_SECOND: '1',
    STATS_POSTS_BURST: '7',
    SESSIONS_PER_ENTITY_MAX: '3',
    TEAMS_PER_USER_MAX: '4',
    PACKS_PER_USER_MAX: '5',
    MEMBERS_PER_TEAM_MAX: '1',
    REMINDERS_PER_USER_MAX: '2',
  },
});
test.after(() => world.close());

const ask = async (method: string, path: string, sent: { token?: string; body?: unknown } = {}) => {
  const reply = await fetch(world.url + path, {
    method,
    headers: sent.token === undefined ? {} : { authorization: sent.token },
    ...(sent.body === undefined ? {} : { body: JSON.stringify(sent.body) }),
  });
  const text = await reply.text();
  return { status: reply.status, headers: reply.headers, json: text === '' ? null : JSON.parse(text) };
};

/** Repeats until a cap says no, which it must within `max` successes. Returns what it says the cap is. */
const capOf = async (max: number, once: (index: number) => ReturnType<typeof ask>): Promise<string> => {
  for (let index = 0; index <= max; index++) {
    const { status, json } = await once(index);
    if (status === 409) return `${json.context.code} ${json.context.limit}`;
    assert.ok(status < 300, JSON.stringify(json));
  }
  return 'none';
};

test('each rate is the one that is set', async () => {
  const { bot, user } = world.demo;
  const meta = `/bots/${'8'.repeat(18)}/meta`;
  for (const [word, most, path, method] of [
    ['login', rates.LOGINS, '/auth/login/chat-oauth2', 'POST'],
    ['bot_create', rates.BOT_CREATIONS, '/bots', 'PUT'],
    ['bot_meta', rates.BOT_META, meta, 'GET'],
    ['auth_test', rates.AUTH_TESTS, '/auth/test', 'POST'],
    ['stats', 7, '/bots/stats', 'POST'],
  ] as const) {
    const token = word === 'stats' ? bot.token : user.token;
    const { headers } = await ask(method, path, method === 'GET' ? { token } : { token, body: {} });
    assert.match(headers.get('ratelimit') ?? '', new RegExp(`^"${word}";r=${most - 1};t=\\d+$`));
    if (word !== 'stats') assert.is(headers.get('x-ratelimit-limit'), String(most));
  }
});

test('POST /auth/test → 429 says in every header, to the second, when to come back', async () => {
  const body = { auth_type: 'user', target_id: '1', token: 'rubbish' };
  let reply = await ask('POST', '/auth/test', { body });
  for (let count = 0; count < 20 && reply.status !== 429; count++) {
    reply = await ask('POST', '/auth/test', { body });
  }
  const header = (name: string) => reply.headers.get(name);
  const resetSeconds = Number(header('x-ratelimit-reset'));

  assert.equal([reply.status, reply.json.context.code], [429, 'rate_limited']);
  // Six a minute: one comes back every ten seconds, the last of six a minute from now.
  assert.ok(resetSeconds > 50 && resetSeconds <= 60, String(resetSeconds));
  assert.equal(['retry-after', 'ratelimit', 'ratelimit-policy', 'x-ratelimit-limit'].map(header), [
    String(resetSeconds - 50),
    `"auth_test";r=0;t=${resetSeconds}`,
    '"auth_test";q=6;w=60',
    '6',
  ]);
  assert.is(header('x-ratelimit-remaining'), '0');
});

test('each cap is the one that is set', async () => {
  const { user, second_user: other, bot, server } = world.demo;
  const session = { expiry: 60, name: 'one', perm_limits: [], type: 'api' };
  const sessions = await capOf(3, () =>
    ask('POST', `/users/${user.id}/sessions`, { token: user.token, body: session }),
  );
  let team = '';
  const teams = await capOf(4, async (index) => {
    const reply = await ask('POST', '/teams', { token: other.token, body: { name: `Team ${index}` } });
    if (reply.status === 201) team = reply.json.team_id;
    return reply;
  });
  const packs = await capOf(5, (index) =>
    ask('PUT', `/users/${user.id}/packs`, {
      token: user.token,
      body: {
        bots: [bot.id],
        name: `Pack ${index}`,
        short: 'A pack of things.',
        tags: ['fun'],
        url: `mine-${index}`,
      },
    }),
  );
  const members = await capOf(1, () =>
    ask('PUT', `/teams/${team}/members`, { token: other.token, body: { user_id: user.id, perms: [] } }),
  );
  const targets = [`bot/${bot.id}`, `server/${server.id}`, `team/${team}`];
  const reminders = await capOf(2, (index) =>
    ask('PUT', `/users/${user.id}/${targets[index]}/reminders`, { token: user.token }),
  );

  assert.is(sessions, 'limit_reached 3');
  assert.is(teams, 'limit_reached 4');
  assert.is(packs, 'limit_reached 5');
  assert.is(members, 'limit_reached 1');
  assert.is(reminders, 'limit_reached 2');
});

test.run();
