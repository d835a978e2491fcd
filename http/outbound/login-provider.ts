/**
 * The client of the login provider: builds the address of a login and exchanges a code for a user's profile.
 *
 * Two kinds of provider. An OpenID Connect provider is configured by its issuer: its endpoints come from
 * discovery, cached for an hour (a failure for a second), and its ID token and profile are verified. A plain
 * OAuth 2.0 provider is configured by three addresses, and its profile is used unverified. oauth4webapi
 * implements the protocol; every request goes through fetch-json.ts, and all requests of one exchange share
 * one time limit. An exchange never throws: it ends in a profile, `bad_code`, or `unavailable`, which is
 * reported to the operator.
 */
import * as oauth from 'oauth4webapi';
import { Type } from 'typebox';
import type { Clock } from '../../engine/ports.ts';
import type { LoginProfile } from '../../storage/catalogue/people/logins.ts';
import { fetchBounded, fetchJson } from './fetch-json.ts';
import { type ProfileMapping, toLoginProfile } from './login-profile.ts';

/** The provider's issuer (OpenID Connect), or its endpoints (OAuth 2.0). */
export type LoginEndpoints =
  | { readonly issuer: string }
  | { readonly authorizeUrl: string; readonly tokenUrl: string; readonly profileUrl: string };

export interface LoginProviderOptions {
  readonly clientId: string;
  readonly clientSecret: string;
  /** How the secret is sent: in a header, or in the body. */
  readonly clientAuth: 'basic' | 'post';
  readonly scopes: readonly string[];
  readonly endpoints: LoginEndpoints;
  readonly profile: ProfileMapping;
  /** Limit for all requests of one code exchange together. */
  readonly timeLimitMs: number;
  readonly clock: Clock;
  /** Reports to the operator why an exchange failed. Never contains a code, token or secret. */
  readonly report: (message: string) => void;
}

export interface CodeExchange {
  readonly code: string;
  readonly redirectUri: string;
  /** PKCE verifier, `null` when the login did not begin with our address. */
  readonly verifier: string | null;
}
export type CodeExchangeResult =
  | { readonly kind: 'profile'; readonly profile: LoginProfile }
  | { readonly kind: 'bad_code' | 'unavailable' };

interface AuthorizeRequest {
  readonly redirectUri: string;
  readonly state: string;
  readonly challenge: string;
}

const answerBytesMax = 256 * 1024;
const discoveryCacheMs = 3_600_000;
/** Pause after a failed discovery, so that users who log in do not flood a provider that is down. */
const failureCacheMs = 1_000;

interface ProviderState extends LoginProviderOptions {
  readonly client: oauth.Client;
  discovered: { readonly server: Promise<oauth.AuthorizationServer>; untilMs: number } | null;
}

/** Opens no connection until the first call. */
export const createLoginProvider = (options: LoginProviderOptions) => {
  const state: ProviderState = { ...options, client: { client_id: options.clientId }, discovered: null };
  return {
    clientId: options.clientId,
    /** Resolves to the address of a login; `null` when discovery fails now. */
    buildAuthorizeUrl: (request: AuthorizeRequest): Promise<string | null> =>
      runOrReport(state, null, async () =>
        buildAuthorizeUrl(await getServer(state, createTimeBudget(state)), state, request),
      ),
    exchange: (request: CodeExchange): Promise<CodeExchangeResult> =>
      runOrReport(state, { kind: 'unavailable' }, () =>
        exchangeCode(state, createTimeBudget(state), request),
      ),
  };
};
export type LoginProvider = ReturnType<typeof createLoginProvider>;

/** Runs the task. On failure, reports it and returns `fallback`. */
const runOrReport = async <Value>(
  state: ProviderState,
  fallback: Value,
  task: () => Promise<Value>,
): Promise<Value> => {
  try {
    return await task();
  } catch (error) {
    const { message, cause } = error as { readonly message?: string; readonly cause?: unknown };
    const code = (cause as { readonly error?: unknown } | undefined)?.error ?? '';
    state.report(`login provider: ${message ?? error} ${String(code)}`.trimEnd());
    return fallback;
  }
};

/** The time left for one exchange, and request options that obey it. */
interface TimeBudget {
  readonly leftMs: () => number;
  /** Plain http is allowed, for a private provider: the operator configured the URL. */
  options(url: string): {
    readonly [oauth.customFetch]: (url: string, request: RequestInit) => Promise<Response>;
    readonly [oauth.allowInsecureRequests]: boolean;
  };
}

const createTimeBudget = ({ clock, timeLimitMs }: ProviderState): TimeBudget => {
  const endsMs = clock.monotonicMs() + timeLimitMs;
  const leftMs = () => Math.max(1, Math.ceil(endsMs - clock.monotonicMs()));
  const fetchInBudget = async (url: string, request: RequestInit): Promise<Response> => {
    const raw = await fetchBounded(url, { timeLimitMs: leftMs(), answerBytesMax }, request);
    if ('reason' in raw) throw new Error(raw.reason);
    if (raw.text === null) throw new Error('an answer was too large');
    const { status, contentType, text } = raw;
    return new Response(text === '' ? null : text, { status, headers: { 'content-type': contentType } });
  };
  return {
    leftMs,
    options: (url) => ({
      [oauth.customFetch]: fetchInBudget,
      [oauth.allowInsecureRequests]: url.startsWith('http:'),
    }),
  };
};

const getServer = (state: ProviderState, limits: TimeBudget): Promise<oauth.AuthorizationServer> => {
  const { endpoints, clock } = state;
  if (!('issuer' in endpoints)) {
    return Promise.resolve({
      issuer: new URL(endpoints.authorizeUrl).origin,
      authorization_endpoint: endpoints.authorizeUrl,
      token_endpoint: endpoints.tokenUrl,
    });
  }
  const cached = state.discovered;
  if (cached !== null && cached.untilMs > clock.monotonicMs()) return cached.server;
  const discovered = {
    server: discover(endpoints.issuer, limits),
    untilMs: clock.monotonicMs() + discoveryCacheMs,
  };
  state.discovered = discovered;
  discovered.server.catch(() => {
    discovered.untilMs = clock.monotonicMs() + failureCacheMs;
  });
  return discovered.server;
};

const discover = async (issuer: string, limits: TimeBudget): Promise<oauth.AuthorizationServer> => {
  const url = new URL(issuer);
  const response = await oauth.discoveryRequest(url, limits.options(issuer));
  const server = await oauth.processDiscoveryResponse(url, response);
  // Clients pass on the code without the `iss` parameter; with one provider a mix-up is impossible.
  return { ...server, authorization_response_iss_parameter_supported: false };
};

const buildAuthorizeUrl = (
  server: oauth.AuthorizationServer,
  { clientId, scopes }: LoginProviderOptions,
  { redirectUri, state, challenge }: AuthorizeRequest,
): string => {
  const url = new URL(server.authorization_endpoint ?? '');
  const parameters = {
    client_id: clientId,
    redirect_uri: redirectUri,
    response_type: 'code',
    scope: scopes.join(' '),
    state,
    code_challenge: challenge,
    code_challenge_method: 'S256',
  };
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  return url.href;
};

const exchangeCode = async (
  state: ProviderState,
  limits: TimeBudget,
  request: CodeExchange,
): Promise<CodeExchangeResult> => {
  const server = await getServer(state, limits);
  const { client, clientSecret } = state;
  const auth =
    state.clientAuth === 'basic'
      ? oauth.ClientSecretBasic(clientSecret)
      : oauth.ClientSecretPost(clientSecret);
  const parameters = oauth.validateAuthResponse(server, client, new URLSearchParams({ code: request.code }));
  const response = await oauth.authorizationCodeGrantRequest(
    server,
    client,
    auth,
    parameters,
    request.redirectUri,
    request.verifier ?? oauth.nopkce,
    limits.options(server.token_endpoint ?? ''),
  );
  const tokens = await oauth
    .processAuthorizationCodeResponse(server, client, response)
    .catch(returnNullIfBadCode);
  if (tokens === null) return { kind: 'bad_code' };
  const profile = toLoginProfile(state.profile, await readClaims(state, limits, { server, tokens }));
  if (profile === null) throw new Error('the profile has no id of 1 to 64 letters, digits or "-"');
  return { kind: 'profile', profile };
};

/** Only `invalid_grant` means a bad code; all other errors are ours or the provider's. */
const returnNullIfBadCode = (error: unknown): null => {
  if (error instanceof oauth.ResponseBodyError && error.error === 'invalid_grant') return null;
  throw error;
};

const Claims = Type.Record(Type.String(), Type.Unknown());

const readClaims = async (
  { endpoints, client }: ProviderState,
  limits: TimeBudget,
  { server, tokens }: { server: oauth.AuthorizationServer; tokens: oauth.TokenEndpointResponse },
): Promise<Readonly<Record<string, unknown>>> => {
  if ('issuer' in endpoints) {
    const subject = oauth.getValidatedIdTokenClaims(tokens)?.sub;
    if (subject === undefined) throw new Error('there was no ID token: is openid among the scopes?');
    const options = limits.options(server.userinfo_endpoint ?? '');
    const response = await oauth.userInfoRequest(server, client, tokens.access_token, options);
    return oauth.processUserInfoResponse(server, client, subject, response);
  }
  const answer = await fetchJson(Claims, {
    url: endpoints.profileUrl,
    headers: { authorization: `Bearer ${tokens.access_token}` },
    timeLimitMs: limits.leftMs(),
    answerBytesMax,
  });
  if (answer.kind === 'ok') return answer.value;
  const why = answer.kind === 'refused' ? `status ${answer.status}` : answer.reason;
  throw new Error(`the profile could not be read: ${why}`);
};
