/**
 * The client of a plain OAuth 2.0 provider against one on loopback that behaves, misbehaves, or is absent.
 * (The other kind of provider: test/http/api/login.test.ts.)
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createLoginProvider, type LoginProviderOptions } from '../../../http/outbound/login-provider.ts';
import { systemClock } from '../../../ops/clock.ts';
import {
  clientId,
  clientSecret,
  goodToken,
  type PlainProvider,
  redirectUri,
  says,
  startPlainProvider,
} from '../../support/login-provider.ts';

const test = suite('login provider');
let plain: PlainProvider;
let reports: string[] = [];

test.before.each(async () => {
  plain = await startPlainProvider();
  reports = [];
});
test.after.each(() => plain.close());

const open = (options: Partial<LoginProviderOptions> = {}) =>
  createLoginProvider({
    clientId,
    clientSecret,
    clientAuth: 'basic',
    scopes: ['identify', 'email'],
    endpoints: {
      authorizeUrl: `${plain.url}/authorize?prompt=none`,
      tokenUrl: `${plain.url}/token`,
      profileUrl: `${plain.url}/users/@me`,
    },
    profile: {
      fields: { id: 'id', username: 'username', display_name: 'global_name', avatar: 'avatar' },
      avatarUrl: 'https://cdn.example.org/{id}/{avatar}.png',
    },
    timeLimitMs: 10_000,
    clock: systemClock,
    report: (words) => reports.push(words),
    ...options,
  });
const exchange = (options: Partial<LoginProviderOptions> = {}) =>
  open(options).exchange({ code: 'their code', redirectUri, verifier: 'v'.repeat(43) });
const robin = {
  id: '728871946456137770',
  username: 'robin',
  displayName: 'Robin',
  avatar: 'https://cdn.example.org/728871946456137770/a1b2.png',
};

test('an exchange sends code, verifier and secret, then fetches the profile with the token', async () => {
  const seen: unknown[] = [];
  plain.token = (request, body, response) => {
    seen.push(request.headers.authorization, Object.fromEntries(new URLSearchParams(body)));
    goodToken(request, body, response);
  };
  const { profile } = plain;
  plain.profile = (request, body, response) => {
    seen.push(request.url, request.headers.authorization);
    profile(request, body, response);
  };

  assert.equal(await exchange(), { kind: 'profile', profile: robin });
  const secret = encodeURIComponent(clientSecret);
  assert.equal(seen, [
    `Basic ${Buffer.from(`${clientId}:${secret}`).toString('base64')}`,
    {
      grant_type: 'authorization_code',
      code: 'their code',
      redirect_uri: redirectUri,
      code_verifier: 'v'.repeat(43),
    },
    '/users/@me',
    'Bearer their token',
  ]);
});

test('the secret is sent in the body when configured so', async () => {
  let sent = new URLSearchParams();
  plain.token = (request, body, response) => {
    sent = new URLSearchParams(body);
    goodToken(request, body, response);
  };
  await exchange({ clientAuth: 'post' });

  assert.equal([sent.get('client_id'), sent.get('client_secret')], [clientId, clientSecret]);
});

test("the address keeps the operator's own parameters and requests all scopes", async () => {
  const url = await open().buildAuthorizeUrl({ redirectUri, state: 'their state', challenge: 'c' });

  assert.equal(Object.fromEntries(new URL(url ?? '').searchParams), {
    prompt: 'none',
    client_id: clientId,
    redirect_uri: redirectUri,
    response_type: 'code',
    scope: 'identify email',
    state: 'their state',
    code_challenge: 'c',
    code_challenge_method: 'S256',
  });
});

test('only invalid_grant is a bad code; other errors are reported, without secrets', async () => {
  plain.token = says(400, { error: 'invalid_grant' });
  assert.equal(await exchange(), { kind: 'bad_code' });
  assert.equal(reports, []);

  plain.token = says(401, { error: 'invalid_client' });
  assert.equal(await exchange(), { kind: 'unavailable' });
  assert.match(reports[0] ?? '', /invalid_client/);
  assert.not.match(reports.join(), /their (code|token)|secret of ours/);
});

for (const [name, answer] of Object.entries({
  'an error without JSON': says(500, 'oh'),
  'a redirect': (_request, _body, response) => response.writeHead(302, { location: '/users/@me' }).end(),
  'what is not JSON': (_request, _body, response) =>
    response.writeHead(200, { 'content-type': 'application/json' }).end('<h1>maintenance</h1>'),
  HTML: (_request, _body, response) => response.end('<h1>maintenance</h1>'),
  'nothing at all': (_request, _body, response) => response.writeHead(204).end(),
  'an empty object': says(200, {}),
  'a list': says(200, [1, 2]),
  'too much': says(200, { access_token: 'x'.repeat(300_000), token_type: 'Bearer', id: '1' }),
  'a connection that breaks': (request) => request.socket.resetAndDestroy(),
} satisfies Record<string, PlainProvider['token']>)) {
  test(`${name} from either address is unavailable, and is reported`, async () => {
    plain.token = answer;
    assert.equal(await exchange(), { kind: 'unavailable' });
    plain.token = goodToken;
    plain.profile = answer;
    assert.equal(await exchange(), { kind: 'unavailable' });
    assert.is(reports.length, 2);
  });
}

test('one time limit covers the whole exchange', async () => {
  plain.profile = () => {};
  assert.equal(await exchange({ timeLimitMs: 300 }), { kind: 'unavailable' });
  plain.token = () => {};
  assert.equal(await exchange({ timeLimitMs: 100 }), { kind: 'unavailable' });
  assert.match(reports.join(), /no answer within/);
});

test('a provider that does not exist is unavailable', async () => {
  const lost = open({ endpoints: { issuer: 'http://127.0.0.1:1' } });

  assert.equal(await lost.exchange({ code: 'c', redirectUri, verifier: null }), { kind: 'unavailable' });
  assert.is(await lost.buildAuthorizeUrl({ redirectUri, state: 's', challenge: 'c' }), null);
});

test('a failed discovery is retried after a second, a successful one is cached', async () => {
  let [nowMs, requests, good] = [0, 0, false];
  plain.profile = (request, body, response) => {
    requests++;
    const addresses = { issuer: plain.url, authorization_endpoint: `${plain.url}/authorize` };
    says(good ? 200 : 500, addresses)(request, body, response);
  };
  const provider = open({
    endpoints: { issuer: plain.url },
    clock: { ...systemClock, monotonicMs: () => nowMs },
  });
  const urls: (string | null)[] = [];
  for (const elapsedMs of [0, 999, 1, 1, 3_000_000, 500_000]) {
    nowMs += elapsedMs;
    urls.push(await provider.buildAuthorizeUrl({ redirectUri, state: 's', challenge: 'c' }));
    good = requests > 1;
  }

  assert.equal(
    urls.map((url) => url !== null),
    [false, false, false, false, true, true],
  );
  assert.is(requests, 3);
});

test('ids may be numbers; names are shortened and cleaned; a missing name is the id', async () => {
  const profileOf = async (profile: Record<string, unknown>, avatarUrl = '') => {
    plain.profile = says(200, profile);
    const { fields } = { fields: { id: 'id', username: 'login', display_name: 'name', avatar: 'pic' } };
    const exchanged = await exchange({ profile: { fields, avatarUrl } });
    return exchanged.kind === 'profile' ? exchanged.profile : exchanged.kind;
  };

  assert.equal(await profileOf({ id: 42 }), { id: '42', username: '42', displayName: '42', avatar: '' });
  assert.equal(
    await profileOf({ id: '7', login: ' a\u0000\u202eb\n ', name: '\u{1F989}'.repeat(70), pic: 'no' }),
    {
      id: '7',
      username: 'ab',
      displayName: '\u{1F989}'.repeat(64),
      avatar: '',
    },
  );
  for (const id of [undefined, '', 'a|b', 'x'.repeat(65), 1.5, 2 ** 53, null, {}]) {
    assert.is(await profileOf({ id }), 'unavailable', String(id));
  }
  for (const pic of [
    'http://plain.example/a',
    'javascript:alert(1)',
    `https://a/${'x'.repeat(512)}`,
    'https://a b',
  ]) {
    assert.is(((await profileOf({ id: '1', pic })) as { avatar: string }).avatar, '', pic);
  }
  const escaped = await profileOf({ id: '1', pic: '../x?y' }, 'https://cdn.example.org/{id}/{avatar}.png');
  assert.is((escaped as { avatar: string }).avatar, 'https://cdn.example.org/1/..%2Fx%3Fy.png');
});

test.run();
