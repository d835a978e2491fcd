/**
 * A valid request for every operation that changes something, with what it needs before it. Each is about
 * people of its own, so it can be tried again and again.
 */
import assert from 'node:assert';
import { addCountedVotes } from '../../storage/ledger/votes.ts';
import { addPeople, newPeople, type People } from '../authorisation/people.ts';
import type { OperatedWorld } from '../operator/world.ts';

export interface Attempt {
  readonly world: OperatedWorld;
  readonly people: People;
  /** Different at each attempt. */
  readonly name: string;
}

let attempts = 0;
export const beginAttempt = async (world: OperatedWorld): Promise<Attempt> => {
  attempts += 1;
  return { world, people: await addPeople(world.sql, newPeople()), name: `n${attempts}` };
};

/** The request's line and body. */
export type Request = readonly [line: string, body?: unknown];
type Build = (attempt: Attempt) => Request | Promise<Request>;

const always = { since: '2020-01-01T00:00:00Z', before: '2150-01-01T00:00:00Z', reason: 'A farm.' };
const server = { team_owner: '', name: 'Harbour', short: 'A quiet place for small ships.' };
const newBot = {
  library: 'discord.js',
  prefix: '!',
  tags: ['moderation'],
  short: 'A bot that helps those who ask it.',
  long: 'x'.repeat(500),
  invite: 'https://a.example.org/',
};

const addVotes = async ({ world: { sql }, people: { bot } }: Attempt): Promise<void> => {
  const [row] = await sql<{ incarnation: number }[]>`select incarnation from bots where bot_id = ${bot}`;
  const ref = { kind: 'bot', id: bot, incarnation: row?.incarnation } as never;
  await sql`
    update totals set upvotes = 3, version = version + 1 where incarnation = ${row?.incarnation ?? 0}`;
  await addCountedVotes(sql, ref, { upvotes: 3, downvotes: 0 });
};

const makePlan = async (attempt: Attempt): Promise<string> => {
  await addVotes(attempt);
  const body = { ...always, target_type: 'bot', target_id: attempt.people.bot };
  return (await attempt.world.send('POST /votes/void?dry_run=true', body)).json.plan;
};

const after =
  (prepare: (attempt: Attempt) => readonly [line: string, body?: unknown], build: Build): Build =>
  async (attempt) => {
    await attempt.world.done(...prepare(attempt));
    return build(attempt);
  };

const onListings = (kind: 'bot' | 'server'): Readonly<Record<string, Build>> => {
  const build =
    (method: string, end: string, body?: object): Build =>
    ({ people }) => [`${method} /${kind}s/${people[kind]}${end}`, body];
  return {
    [`${kind}s approve`]: build('POST', '/approve', {}),
    [`${kind}s deny`]: build('POST', '/deny', { note: 'No.' }),
    [`${kind}s pend`]: build('POST', '/pend', {}),
    [`${kind}s certify`]: build('POST', '/certify', {}),
    [`${kind}s premium`]: build('PUT', '/premium', { hours: 2 }),
    [`${kind}s delete`]: build('DELETE', ''),
  };
};

const toPut =
  (path: string, body: object): Build =>
  ({ name }) => [`PUT ${path}/${name}`, body];
const toDelete =
  (path: string, body: object): Build =>
  async ({ world, name }) => {
    await world.done(`PUT ${path}/${name}`, body);
    return [`DELETE ${path}/${name}`];
  };
const content = (what: string, path: string, body: object): Readonly<Record<string, Build>> => ({
  [`${what} put`]: toPut(path, body),
  [`${what} delete`]: toDelete(path, body),
});

/** By the name of the command. */
export const operations: Readonly<Record<string, Build>> = {
  ...onListings('bot'),
  ...onListings('server'),
  'bots add': ({ people }) => [`PUT /bots/8${people.bot.slice(1)}`, { ...newBot, owner: people.user }],
  'bots claim': ({ people }) => [`PUT /bots/${people.bot}/claim`, { user_id: people.user }],
  'bots unclaim': ({ people }) => [`DELETE /bots/${people.bot}/claim`],
  'servers put': ({ people }) => [`PUT /servers/${people.server}`, { ...server, team_owner: people.team }],
  'listings vote-ban': ({ people }) => [`PUT /bot/${people.bot}/vote-ban`],
  'listings unvote-ban': ({ people }) => [`DELETE /bot/${people.bot}/vote-ban`],
  'teams delete': ({ people }) => [`DELETE /teams/${people.secondTeam}`],
  'packs delete': ({ people }) => [`DELETE /packs/${people.pack}`],
  'users put': ({ people }) => [`PUT /users/${people.user}`, { username: 'robin' }],
  'users ban': ({ people }) => [`PUT /users/${people.user}/ban`],
  'users unban': ({ people }) => [`DELETE /users/${people.user}/ban`],
  'users vote-ban': ({ people }) => [`PUT /users/${people.user}/vote-ban`],
  'users unvote-ban': ({ people }) => [`DELETE /users/${people.user}/vote-ban`],
  'tokens issue': ({ people }) => [`POST /user/${people.user}/tokens`, {}],
  'tokens revoke': async ({ world, people }) => {
    const { json } = await world.send(`POST /bot/${people.bot}/tokens`, {});
    return [`DELETE /bot/${people.bot}/tokens/${json.session_id}`];
  },
  ...content('tiers', '/tiers', { target_type: 'bot', position: 0, votes: 100, cents: 10 }),
  ...content('benefits', '/shop/benefits', { name: 'Faster votes' }),
  ...content('items', '/shop/items', { name: 'A month', cents: 0.5, duration: 720, benefits: [] }),
  'coupons put': ({ name }) => [`PUT /shop/coupons/${name}`, { code: `C${name}`, cents: 1, public: true }],
  'coupons delete': after(
    ({ name }) => [`PUT /shop/coupons/${name}`, { code: `C${name}`, cents: 1, public: true }],
    ({ name }) => [`DELETE /shop/coupons/${name}`],
  ),
  'blog put': ({ name, people }) => [
    `PUT /blog/${name}`,
    { title: 'News', description: 'What is new.', content: 'Much.', author: people.user },
  ],
  'blog delete': after(
    ({ name, people }) => [
      `PUT /blog/${name}`,
      { title: 'News', description: 'What is new.', content: 'Much.', author: people.user },
    ],
    ({ name }) => [`DELETE /blog/${name}`],
  ),
  ...content('positions', '/positions', {
    name: 'Helper',
    questions: [{ id: 'why', question: 'Why?', paragraph: 'Say why.', placeholder: '', short: false }],
  }),
  'words add': ({ name }) => [`PUT /words/word-${name}`],
  'words delete': after(
    ({ name }) => [`PUT /words/word-${name}`],
    ({ name }) => [`DELETE /words/word-${name}`],
  ),
  'applications review': async ({ world, people }) => {
    const long = 'x'.repeat(50);
    const body = { position: 'banappeal', answers: { reason: long, appeal: long } };
    const token = await world.token('user', people.user);
    const sent = await world.ask('POST', `/users/${people.user}/apps`, { token, body });
    assert.strictEqual(sent.status, 204, sent.text);
    const [app] = await world.sql<{ app_id: string }[]>`
      select app_id from apps where user_id = ${people.user}`;
    return [`POST /applications/${app?.app_id}/review`, { state: 'approved' }];
  },
  'votes void': async (attempt) => {
    await addVotes(attempt);
    const [vote] = await attempt.world.sql<{ itag: string }[]>`
      select itag from votes where target_id = ${attempt.people.bot} limit 1`;
    return [`DELETE /votes/${vote?.itag}`];
  },
  'votes void-many': async (attempt) => ['POST /votes/void', { plan: await makePlan(attempt) }],
  'votes undo': async (attempt) => {
    const plan = await makePlan(attempt);
    await attempt.world.send('POST /votes/void', { plan });
    return [`POST /votes/void/${plan}/undo`];
  },
  'votes reset': async (attempt) => {
    await addVotes(attempt);
    return [`POST /bot/${attempt.people.bot}/votes/reset`, {}];
  },
  'votes reset-all': async (attempt) => {
    await addVotes(attempt);
    return ['POST /votes/reset-all', { confirm: 'all' }];
  },
  'dead-letters retry': async ({ world, name }) => {
    for (const row of ['a', 'b'])
      await world.sql`
        insert into dead_letters (subject, source, body, reason)
        values (${`vote ${name}${row}`}, 'vote', '{}'::jsonb, 'refused')`;
    return ['POST /dead-letters/retry'];
  },
};

const webhook = { name: 'Votes', url: 'http://127.0.0.1:9/', format: 'standard' };
const makeWebhook = async ({ world, people }: Attempt, end: string): Promise<string> => {
  const token = await world.token('bot', people.bot);
  const { json } = await world.ask('POST', `/bot/${people.bot}/webhooks`, { token, body: webhook });
  assert.ok(json.id, JSON.stringify(json));
  return `/bot/${people.bot}/webhooks/${json.id}${end}`;
};

/** Requests of the public listener that need something before them; others are those of authorisation. */
export const prepared: Readonly<Record<string, (attempt: Attempt) => Promise<Request>>> = {
  revokeSession: async (attempt) => {
    const { world, people } = attempt;
    await world.token('bot', people.bot);
    const [row] = await world.sql<{ id: string }[]>`select id from sessions where target_id = ${people.bot}`;
    return [`DELETE /bot/${people.bot}/sessions/${row?.id}`];
  },
  deleteTeam: async ({ people }) => [`DELETE /teams/${people.secondTeam}`],
  deleteReminder: async ({ world, people }) => {
    const path = `/users/${people.user}/bot/${people.bot}/reminders`;
    const token = await world.token('user', people.user);
    assert.strictEqual((await world.ask('PUT', path, { token })).status, 200);
    return [`DELETE ${path}`];
  },
  deleteNotification: async ({ world, people, name }) => {
    const [row] = await world.sql<{ id: string }[]>`
      insert into push_subscriptions (id, user_id, endpoint, auth, p256dh, browser_info, created_at)
      values (gen_random_uuid(), ${people.user}, ${`https://1.1.1.1/${name}`}, 'a', 'b', '{}', now())
      returning id`;
    return [`DELETE /users/${people.user}/notification?notif_id=${row?.id}`];
  },
  redeemCredits: async (attempt) => {
    await attempt.world.done('PUT /tiers/only', { target_type: 'bot', position: 0, votes: 100, cents: 10 });
    await addVotes(attempt);
    return [`POST /bot/${attempt.people.bot}/votes/credits?votes=1`];
  },
  createWebhook: async ({ people }) => [`POST /bot/${people.bot}/webhooks`, webhook],
  editWebhook: async (attempt) => [`PATCH ${await makeWebhook(attempt, '')}`, { enabled: false }],
  deleteWebhook: async (attempt) => [`DELETE ${await makeWebhook(attempt, '')}`],
  replaceWebhookSecret: async (attempt) => [`POST ${await makeWebhook(attempt, '/secret')}`, {}],
  clearWebhookDeliveries: async (attempt) => [`DELETE ${await makeWebhook(attempt, '/deliveries')}`],
  replayWebhook: async (attempt) => {
    const { world, people } = attempt;
    await world.vote(people.user, `bot/${people.bot}`);
    await world.engine.waitForFlush('bot', people.bot);
    const path = await makeWebhook(attempt, '/replay');
    return [`POST ${path}`, { from_number: 1, to_number: 3 }];
  },
};
