/**
 * Login providers for tests, on loopback: a real OpenID Connect server with a scripted user agent, and a
 * plain OAuth 2.0 server that can be set to misbehave.
 *
 * The user agent does what a browser would: it follows redirects by hand, keeps cookies, and stops where it
 * would be sent back to the client. `login_hint` names the user that it logs in as.
 */
import { generateKeyPairSync } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { Provider } from 'oidc-provider';
import { close, listen } from './loopback.ts';

export const clientId = 'rollcall';
export const clientSecret = 'ours:100%&more';
/** Where users are redirected to; nothing listens there. */
export const redirectUri = 'https://directory.example.org/login';
export const otherRedirectUri = 'https://directory.example.org/other';

export interface OpenIdProvider {
  readonly issuer: string;
  /** Fields of each user's profile besides the id. */
  readonly profiles: Map<string, Record<string, string>>;
  /** Requests so far for a token. */
  readonly tokenRequests: () => number;
  close(): Promise<void>;
}

const settingsOf = (profiles: OpenIdProvider['profiles']): ConstructorParameters<typeof Provider>[1] => {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 });
  return {
    clients: [
      {
        client_id: clientId,
        client_secret: clientSecret,
        redirect_uris: [redirectUri, otherRedirectUri],
        response_types: ['code'],
        grant_types: ['authorization_code'],
      },
    ],
    jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), alg: 'RS256', use: 'sig' }] },
    cookies: { keys: ['not secret'] },
    claims: { openid: ['sub'], profile: ['name', 'preferred_username', 'picture'] },
    pkce: { required: () => false },
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
    ttl: {
      AccessToken: 600,
      AuthorizationCode: 600,
      Grant: 600,
      IdToken: 600,
      Interaction: 600,
      Session: 600,
    },
    findAccount: (_context, id) => ({
      accountId: id,
      claims: () => ({ sub: id, ...profiles.get(id) }),
    }),
    // Every user consents to everything.
    loadExistingGrant: async (context) => {
      const { client, session } = context.oidc;
      const grant = new context.oidc.provider.Grant({
        clientId: client?.clientId ?? '',
        accountId: session?.accountId ?? '',
      });
      grant.addOIDCScope('openid profile');
      await grant.save();
      return grant;
    },
  };
};

/** Starts a provider on a free port. */
export const startOpenIdProvider = async (): Promise<OpenIdProvider> => {
  const profiles: OpenIdProvider['profiles'] = new Map();
  const server = createServer();
  const issuer = `http://127.0.0.1:${await listen(server)}`;
  const provider = new Provider(issuer, settingsOf(profiles));
  const answer = provider.callback();
  let tokenRequests = 0;
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const { pathname } = new URL(request.url ?? '', issuer);
    if (pathname === '/token') tokenRequests++;
    if (!pathname.startsWith('/interaction/')) {
      void answer(request, response);
      return;
    }
    void provider.interactionDetails(request, response).then(({ params }) =>
      provider.interactionFinished(request, response, {
        login: { accountId: String(params.login_hint) },
      }),
    );
  });
  return { issuer, profiles, tokenRequests: () => tokenRequests, close: () => close(server) };
};

const hopsMax = 10;

/** Logs `user` in at `url` and returns what the provider sent back to `redirectUri`. */
export const visit = async (url: string, user: string): Promise<URLSearchParams> => {
  const cookies = new Map<string, string>();
  let next = new URL(url);
  next.searchParams.set('login_hint', user);
  for (let hop = 0; hop < hopsMax; hop++) {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const response = await fetch(next, { redirect: 'manual', headers: { cookie } });
    await response.arrayBuffer();
    for (const line of response.headers.getSetCookie()) {
      const [pair = ''] = line.split(';');
      cookies.set(pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1));
    }
    const location = response.headers.get('location');
    if (location === null) throw new Error(`the provider said ${response.status} at ${next.pathname}`);
    next = new URL(location, next);
    if (next.hostname === 'directory.example.org') return next.searchParams;
  }
  throw new Error('the provider never sent the user back');
};

type Answer = (request: IncomingMessage, body: string, response: ServerResponse) => void;

/** A provider of plain OAuth 2.0: `token` and `profile` answer as they are set. */
export interface PlainProvider {
  readonly url: string;
  token: Answer;
  profile: Answer;
  close(): Promise<void>;
}

/** Answers with a status and JSON. */
export const says =
  (status: number, value: unknown): Answer =>
  (_request, _body, response) => {
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
  };

export const goodToken = says(200, { access_token: 'their token', token_type: 'Bearer', expires_in: 600 });

/** Starts one on a free port; it answers correctly until the test changes it. */
export const startPlainProvider = async (): Promise<PlainProvider> => {
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk) => {
      body += String(chunk);
    });
    request.on('end', () => {
      const answer = request.url === '/token' ? provider.token : provider.profile;
      answer(request, body, response);
    });
  });
  const provider: PlainProvider = {
    url: `http://127.0.0.1:${await listen(server)}`,
    token: goodToken,
    profile: says(200, { id: '728871946456137770', username: 'robin', global_name: 'Robin', avatar: 'a1b2' }),
    close: () => close(server),
  };
  return provider;
};
