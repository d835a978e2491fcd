/**
 * The login as the settings make it: which provider is asked for what, and whose states are understood.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { readConfig } from '../../ops/config.ts';
import { openLogin } from '../../ops/login.ts';
import { type Directory, openDirectory } from '../storage/catalogue/directory.ts';
import { goodToken, type PlainProvider, says, startPlainProvider } from '../support/login-provider.ts';

const test = suite('login from settings');
let directory: Directory;
let plain: PlainProvider;
const asked: unknown[] = [];

test.before(async () => {
  directory = await openDirectory();
  plain = await startPlainProvider();
});
test.after(async () => {
  await plain.close();
  await directory.close();
});

const named = () => ({
  LOGIN_AUTHORIZE_URL: `${plain.url}/authorize`,
  LOGIN_TOKEN_URL: `${plain.url}/token`,
  LOGIN_PROFILE_URL: `${plain.url}/users/@me`,
  LOGIN_CLIENT_ID: 'us',
  LOGIN_CLIENT_SECRET: 'secret',
  LOGIN_REDIRECT_URIS: 'https://example.org/login,app://back',
});
const open = (environment: Record<string, string>) =>
  openLogin(directory.sql, readConfig(environment), {
    report: (words) => assert.unreachable(words),
    meters: { recordCall: (...words) => asked.push(words.slice(0, 2)) },
  });
const scopeOf = async (environment: Record<string, string>) => {
  const login = await open(environment);
  const request = { redirectUri: 'app://back', state: 's', challenge: 'c' };
  return new URL((await login?.provider.buildAuthorizeUrl(request)) ?? '').searchParams.get('scope');
};

test('without settings there is no login', async () => {
  assert.is(await open({}), null);
});

test('a plain provider is asked for identify, unless the operator says otherwise', async () => {
  assert.is(await scopeOf(named()), 'identify');
  assert.is(await scopeOf({ ...named(), LOGIN_SCOPES: 'identify, email' }), 'identify email');
});

test('an issuer is discovered and asked for openid and profile', async () => {
  plain.profile = says(200, { issuer: plain.url, authorization_endpoint: `${plain.url}/authorize` });
  const { LOGIN_CLIENT_ID, LOGIN_CLIENT_SECRET, LOGIN_REDIRECT_URIS } = named();
  const issuer = { LOGIN_CLIENT_ID, LOGIN_CLIENT_SECRET, LOGIN_REDIRECT_URIS, LOGIN_ISSUER: plain.url };

  assert.is(await scopeOf(issuer), 'openid profile');
});

test('the profile is read by the fields that the operator names, the others by default', async () => {
  plain.token = goodToken;
  plain.profile = says(200, { id: '1', username: 'robin', nick: 'Red', global_name: 'Robin', avatar: 'a1' });
  const login = await open({
    ...named(),
    LOGIN_PROFILE_FIELDS: 'display_name=nick',
    LOGIN_AVATAR_URL: 'https://cdn.example.org/{id}/{avatar}.png',
  });
  asked.length = 0;
  const exchanged = await login?.provider.exchange({ code: 'c', redirectUri: 'app://back', verifier: null });

  assert.equal(exchanged, {
    kind: 'profile',
    profile: { id: '1', username: 'robin', displayName: 'Red', avatar: 'https://cdn.example.org/1/a1.png' },
  });
  assert.equal(asked, [['login', 'success']], 'the exchange is in the metrics');
});

test('nodes of one directory understand each other’s states; sessions last as long as set', async () => {
  const [one, other] = [await open(named()), await open({ ...named(), LOGIN_SESSION_DAYS: '2' })];
  const { state } = one?.states.create(1_000_000) ?? { state: '' };

  assert.ok(other?.states.findVerifier(state, 1_000_000));
  assert.equal([one?.sessionSeconds, other?.sessionSeconds], [30 * 86_400, 2 * 86_400]);
  assert.equal(one?.redirectUris, ['https://example.org/login', 'app://back']);
});

test.run();
