/**
 * The login built from the settings: the provider, its scopes and profile fields, and the shared states.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { readConfig } from '../../ops/config/config.ts';
import { openLogin } from '../../ops/services/login.ts';
import { openDirectory } from '../storage/catalogue/directory.ts';
import { goodToken, says, startPlainProvider } from '../support/login-provider.ts';

const test = suite('login from settings');
const calls: unknown[] = [];

const directory = await openDirectory();
const provider = await startPlainProvider();
test.after(async () => {
  await provider.close();
  await directory.close();
});

const createSettings = () => ({
  LOGIN_AUTHORIZE_URL: `${provider.url}/authorize`,
  LOGIN_TOKEN_URL: `${provider.url}/token`,
  LOGIN_PROFILE_URL: `${provider.url}/users/@me`,
  LOGIN_CLIENT_ID: 'us',
  LOGIN_CLIENT_SECRET: 'secret',
  LOGIN_REDIRECT_URIS: 'https://example.org/login,app://back',
});
const open = (environment: Record<string, string>) =>
  openLogin(directory.sql, readConfig(environment), {
    report: (reason) => assert.unreachable(reason),
    meters: { recordCall: (...args) => calls.push(args.slice(0, 2)) },
  });
const readScope = async (environment: Record<string, string>) => {
  const login = await open(environment);
  const request = { redirectUri: 'app://back', state: 's', challenge: 'c' };
  return new URL((await login?.provider.buildAuthorizeUrl(request)) ?? '').searchParams.get('scope');
};

test('without settings there is no login', async () => {
  assert.is(await open({}), null);
});

test('the scope for an OAuth provider is identify, unless the operator sets another', async () => {
  assert.is(await readScope(createSettings()), 'identify');
  assert.is(await readScope({ ...createSettings(), LOGIN_SCOPES: 'identify, email' }), 'identify email');
});

test('an issuer is discovered, and its scopes are openid and profile', async () => {
  provider.profile = says(200, { issuer: provider.url, authorization_endpoint: `${provider.url}/authorize` });
  const { LOGIN_CLIENT_ID, LOGIN_CLIENT_SECRET, LOGIN_REDIRECT_URIS } = createSettings();
  const issuer = { LOGIN_CLIENT_ID, LOGIN_CLIENT_SECRET, LOGIN_REDIRECT_URIS, LOGIN_ISSUER: provider.url };

  assert.is(await readScope(issuer), 'openid profile');
});

test('the profile is read by the configured fields, the others by default', async () => {
  provider.token = goodToken;
  provider.profile = says(200, {
    id: '1',
    username: 'robin',
    nick: 'Red',
    global_name: 'Robin',
    avatar: 'a1',
  });
  const login = await open({
    ...createSettings(),
    LOGIN_PROFILE_FIELDS: 'display_name=nick',
    LOGIN_AVATAR_URL: 'https://cdn.example.org/{id}/{avatar}.png',
  });
  calls.length = 0;
  const result = await login?.provider.exchange({ code: 'c', redirectUri: 'app://back', verifier: null });

  assert.equal(result, {
    kind: 'profile',
    profile: { id: '1', username: 'robin', displayName: 'Red', avatar: 'https://cdn.example.org/1/a1.png' },
  });
  assert.equal(calls, [['login', 'success']], 'the exchange is in the metrics');
});

test('nodes of one directory accept each other’s states; sessions last as long as configured', async () => {
  const [one, other] = [
    await open(createSettings()),
    await open({ ...createSettings(), LOGIN_SESSION_DAYS: '2' }),
  ];
  const { state } = one?.states.create(1_000_000) ?? { state: '' };

  assert.ok(other?.states.findVerifier(state, 1_000_000));
  assert.equal([one?.sessionSeconds, other?.sessionSeconds], [30 * 86_400, 2 * 86_400]);
  assert.equal(one?.redirectUris, ['https://example.org/login', 'app://back']);
});

test.run();
