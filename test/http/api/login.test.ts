/**
 * Logging in against a whole Rollcall and a real OpenID Connect provider on loopback.
 */
import { randomBytes } from 'node:crypto';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createLoginStates } from '../../../http/auth/login-state.ts';
import { createLoginProvider, type LoginProvider } from '../../../http/outbound/login-provider.ts';
import { systemClock } from '../../../ops/clock.ts';
import { purgeLogins } from '../../../storage/catalogue/people/logins.ts';
import {
  clientId,
  clientSecret,
  otherRedirectUri,
  redirectUri,
  startOpenIdProvider,
  visit,
} from '../../support/login-provider.ts';
import { codeOf, openWorld } from './world.ts';

const test = suite('routes of the login');
const path = '/auth/login/chat-oauth2';
let callers = 0;
const reports: string[] = [];
/** Whom Rollcall asks: the provider, or one that is away. */
let usedProvider: LoginProvider;

const open = (issuer: string): LoginProvider =>
  createLoginProvider({
    clientId,
    clientSecret,
    clientAuth: 'basic',
    scopes: ['openid', 'profile'],
    endpoints: { issuer },
    profile: {
      fields: { id: 'sub', username: 'preferred_username', display_name: 'name', avatar: 'picture' },
      avatarUrl: '',
    },
    timeLimitMs: 10_000,
    clock: systemClock,
    report: (words) => reports.push(words),
  });

const provider = await startOpenIdProvider();
usedProvider = open(provider.issuer);
const world = await openWorld({
  login: {
    provider: {
      clientId,
      buildAuthorizeUrl: (request) => usedProvider.buildAuthorizeUrl(request),
      exchange: (request) => usedProvider.exchange(request),
    },
    states: createLoginStates(randomBytes(32)),
    redirectUris: [redirectUri, otherRedirectUri],
    sessionSeconds: 30 * 86_400,
  },
});
test.after(async () => {
  await world.close();
  await provider.close();
});

/** Each from an address of its own, unless one is given. */
const logIn = (fields: Record<string, unknown>, address = `203.0.113.${++callers % 250}`) =>
  world.ask('POST', path, {
    headers: { 'x-forwarded-for': address },
    body: {
      client_id: clientId,
      protocol: 'persepolis',
      redirect_uri: redirectUri,
      scope: 'normal',
      ...fields,
    },
  });
const askUrl = async (): Promise<{ url: string; state: string }> => (await world.ask('GET', path)).json;
/** A code and the state it came with, by the address that `GET` gives. */
const begin = async (user: string) => {
  const { url, state } = await askUrl();
  const back = await visit(url, user);
  assert.is(back.get('state'), state);
  return { code: back.get('code') ?? '', state };
};
/** A code of a login that began without our address, so without PKCE. */
const beginAlone = async (user: string): Promise<string> => {
  const url = new URL(`${provider.issuer}/auth`);
  const parameters = {
    client_id: clientId,
    redirect_uri: redirectUri,
    response_type: 'code',
    scope: 'openid profile',
  };
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  return (await visit(url.href, user)).get('code') ?? '';
};
const sessionsOf = (user: string) =>
  world.sql<{ type: string; days: number }[]>`
    select type, extract(epoch from expiry - created_at)::float8 / 86400 as days
    from sessions where target_type = 'user' and target_id = ${user}`;

test('GET …/chat-oauth2 → 200 with an address of our id, a state and an S256 challenge', async () => {
  const { status, json, headers } = await world.ask('GET', path);
  const url = new URL(json.url);

  assert.equal([status, json.client_id, headers.get('cache-control')], [200, clientId, 'no-store']);
  assert.is(`${url.origin}${url.pathname}`, `${provider.issuer}/auth`);
  const { code_challenge: challenge, ...rest } = Object.fromEntries(url.searchParams);
  assert.match(challenge ?? '', /^[A-Za-z0-9_-]{43}$/);
  assert.equal(rest, {
    client_id: clientId,
    redirect_uri: redirectUri,
    response_type: 'code',
    scope: 'openid profile',
    state: json.state,
    code_challenge_method: 'S256',
  });
});

test('GET …/chat-oauth2 → 200 for an allowed redirect_uri, 400 for any other', async () => {
  const ask = (uri: string) => world.ask('GET', `${path}?redirect_uri=${encodeURIComponent(uri)}`);
  const other = await ask(otherRedirectUri);
  assert.is(new URL(other.json.url).searchParams.get('redirect_uri'), otherRedirectUri);

  const foreign = await ask('https://evil.example.com/login');
  assert.equal([foreign.status, '/redirect_uri' in foreign.json.context], [400, true]);
});

test('POST …/chat-oauth2 → 200: the user is there, and the token acts for him for 30 days', async () => {
  provider.profiles.set('robin', {
    preferred_username: 'robin',
    name: 'Robin',
    picture: 'https://a.example/r',
  });
  const { status, json } = await logIn(await begin('robin'));

  assert.equal([status, json.target_id], [200, 'robin']);
  const own = await world.ask('GET', '/users/robin/sessions', { token: json.token });
  assert.equal(
    [own.status, own.json.sessions[0].id, own.json.sessions[0].type],
    [200, json.session_id, 'login'],
  );
  const [session] = await sessionsOf('robin');
  assert.equal([session?.type, Math.round(session?.days ?? 0)], ['login', 30]);
  const [user] = await world.sql`select username, display_name, avatar, bot from users where id = 'robin'`;
  assert.equal(
    { ...user },
    {
      username: 'robin',
      display_name: 'Robin',
      avatar: 'https://a.example/r',
      bot: false,
    },
  );
  const tested = await world.ask('POST', '/auth/test', {
    body: { auth_type: 'user', target_id: 'robin', token: json.token },
  });
  assert.is(tested.json.authorized, true);
});

test("POST …/chat-oauth2 → 200 with the contract's five fields; the profile is renewed", async () => {
  provider.profiles.set('robin', { preferred_username: 'red-robin', name: 'Red Robin' });
  const { status } = await logIn({ code: await beginAlone('robin'), scope: 'external_auth' });

  assert.is(status, 200);
  const [user] = await world.sql`select username, display_name, avatar from users where id = 'robin'`;
  assert.equal({ ...user }, { username: 'red-robin', display_name: 'Red Robin', avatar: '' });
});

test('POST …/chat-oauth2 → 400 unless the state of the code comes along', async () => {
  const { code } = await begin('wren');
  assert.equal(codeOf(await logIn({ code })), [400, 'login_code_invalid']);

  const [one, other] = [await begin('wren'), await begin('wren')];
  assert.equal(codeOf(await logIn({ code: one.code, state: other.state })), [400, 'login_code_invalid']);
  assert.is((await sessionsOf('wren')).length, 0);
});

test('POST …/chat-oauth2 → 400 for an unknown code, or for another redirect_uri', async () => {
  assert.equal(codeOf(await logIn({ code: 'never-given' })), [400, 'login_code_invalid']);
  const code = await beginAlone('wren');
  assert.equal(codeOf(await logIn({ code, redirect_uri: otherRedirectUri })), [400, 'login_code_invalid']);
});

test('POST …/chat-oauth2 → 400 for a used code, which the provider is not even asked about', async () => {
  const code = await beginAlone('finch');
  assert.is((await logIn({ code })).status, 200);
  const before = provider.tokenRequests();

  assert.equal(codeOf(await logIn({ code })), [400, 'login_code_invalid']);
  assert.is(provider.tokenRequests(), before);
  await world.sql`delete from login_uses`;
  assert.equal(codeOf(await logIn({ code })), [400, 'login_code_invalid']);
  assert.is((await sessionsOf('finch')).length, 1);
});

test('POST …/chat-oauth2 → 200 for exactly one of twenty who bring the same code at once', async () => {
  const begun = await begin('swift');
  const before = provider.tokenRequests();
  const replies = await Promise.all(Array.from({ length: 20 }, () => logIn(begun)));

  assert.is(replies.filter(({ status }) => status === 200).length, 1);
  assert.is(replies.filter((reply) => reply.status === 400).length, 19);
  assert.is(provider.tokenRequests() - before, 1);
  assert.is((await sessionsOf('swift')).length, 1);
});

test('POST …/chat-oauth2 → 400 for a used, a foreign and an expired state', async () => {
  const begun = await begin('crane');
  assert.is((await logIn(begun)).status, 200);
  const again = { code: await beginAlone('crane'), state: begun.state };
  assert.equal(codeOf(await logIn(again)), [400, 'login_state_invalid']);

  const foreign = createLoginStates(randomBytes(32)).create(world.clock.nowMs());
  assert.equal(codeOf(await logIn({ ...again, state: foreign.state })), [400, 'login_state_invalid']);
  assert.equal(codeOf(await logIn({ ...again, state: 'x' })), [400, 'login_state_invalid']);
  assert.is(
    (await logIn({ code: again.code })).status,
    200,
    'a state that is refused does not cost the code',
  );

  const late = await begin('crane');
  world.clock.skip(600_001);
  assert.equal(codeOf(await logIn(late)), [400, 'login_state_invalid']);
});

test('POST …/chat-oauth2 → 400 for every redirect_uri that is not allowed letter by letter', async () => {
  const code = await beginAlone('heron');
  const before = provider.tokenRequests();
  for (const uri of [
    `${redirectUri}/`,
    `${redirectUri}?next=1`,
    `${redirectUri}#x`,
    redirectUri.toUpperCase(),
    redirectUri.replace('https', 'http'),
    redirectUri.replace('.org', '.org.evil.example'),
    redirectUri.replace('//', '//evil.example@'),
    'https://directory.example.org/login/../other',
    'javascript:alert(1)',
  ]) {
    const { status, json } = await logIn({ code, redirect_uri: uri });
    assert.equal([status, json.context.code], [400, 'validation_failed'], uri);
    assert.ok('/redirect_uri' in json.context, uri);
  }
  assert.is(provider.tokenRequests(), before);
  assert.is((await logIn({ code })).status, 200);
});

test('POST …/chat-oauth2 → 400 for another protocol, client id or scope, in this order', async () => {
  const wrong = { code: 'x', client_id: 'theirs', redirect_uri: 'https://evil.example' };
  const old = await logIn({ ...wrong, protocol: 'a12' });
  assert.equal(codeOf(old), [400, 'protocol_unsupported']);
  assert.match(old.json.message, /persepolis/);
  assert.ok('/redirect_uri' in (await logIn(wrong)).json.context);
  assert.ok('/client_id' in (await logIn({ ...wrong, redirect_uri: redirectUri })).json.context);
  assert.ok('/scope' in (await logIn({ code: 'x', scope: 'all' })).json.context);
  assert.ok('/protocol' in (await logIn({ code: 'x', protocol: undefined })).json.context);
});

test('POST …/chat-oauth2 → 403 for the banned, except by ban_exempt, only theirs', async () => {
  await logIn({ code: await beginAlone('banned') });
  await world.sql`update users set banned = true where id = 'banned'`;
  for (const scope of ['normal', 'external_auth']) {
    assert.equal(codeOf(await logIn({ code: await beginAlone('banned'), scope })), [403, 'banned']);
  }
  const exempt = await logIn({ code: await beginAlone('banned'), scope: 'ban_exempt' });
  assert.is(exempt.status, 200);
  const blocked = await world.ask('GET', '/users/banned/sessions', { token: exempt.json.token });
  assert.equal(codeOf(blocked), [403, 'banned']);

  for (const user of ['robin', 'newcomer']) {
    const reply = await logIn({ code: await beginAlone(user), scope: 'ban_exempt' });
    assert.equal(codeOf(reply), [403, 'forbidden']);
  }
  assert.is((await world.sql`select from users where id = 'newcomer'`).length, 0);
});

test('POST …/chat-oauth2 → 429 after five in a minute from one address; GET is not counted', async () => {
  const address = '198.51.100.7';
  const headers = { 'x-forwarded-for': address };
  for (let index = 0; index < 6; index++) {
    assert.is((await world.ask('GET', path, { headers })).status, 200);
  }
  for (let index = 0; index < 5; index++) assert.is((await logIn({ protocol: 'old' }, address)).status, 400);
  const sixth = await logIn({ code: 'x' }, address);

  assert.equal(codeOf(sixth), [429, 'rate_limited']);
  assert.ok(Number(sixth.headers.get('retry-after')) >= 1);
  assert.is((await logIn({ protocol: 'old' }, '198.51.100.8')).status, 400);
});

test('purging takes old uses and expired sessions, and leaves the others', async () => {
  const { json } = await logIn({ code: await beginAlone('owl') });
  await world.sql`delete from login_uses`;
  await world.sql`
    insert into login_uses (kind, hash, used_at)
    select 'code', sha256(n::text::bytea), now() - make_interval(mins => 30 + 60 * n)
    from generate_series(1, 48) as n`;
  await world.sql`
    insert into sessions (id, target_type, target_id, type, name, token_hash, expiry)
    select gen_random_uuid(), 'user', 'gone', 'login', '', sha256(n::text::bytea), now() - interval '1 second'
    from generate_series(1, 3) as n`;
  const purged = await purgeLogins(world.sql, Date.now());

  assert.equal(purged, { uses: 25, sessions: 3 });
  assert.is((await world.ask('GET', '/users/owl/sessions', { token: json.token })).status, 200);
});

test('…/chat-oauth2 → 503 while the provider is away; the same code logs in later', async () => {
  assert.equal(reports, [], 'no failure of the provider was reported so far');
  const begun = await begin('stork');
  const well = usedProvider;
  usedProvider = open('http://127.0.0.1:1');
  const replies = [await world.ask('GET', path), await logIn(begun)];
  usedProvider = well;

  for (const { status, json, headers } of replies) {
    assert.equal([status, json.context.code], [503, 'login_unavailable']);
    assert.equal([json.context.outcome, headers.get('retry-after')], ['not_applied', '5']);
  }
  assert.is(reports.length, 2);
  assert.is((await logIn(begun)).status, 200);
  assert.is((await sessionsOf('stork')).length, 1);
});

test.run();
