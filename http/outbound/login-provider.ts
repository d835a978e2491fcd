/**
 * The login provider: where users are sent, and what it says of them in exchange for a code.
 *
 * Two kinds of provider. An OpenID Connect one is named by its issuer: its addresses come from discovery,
 * kept for an hour (a failure for a second), and its ID token and profile are checked. A plain OAuth 2.0
 * one is named by three addresses, and its profile is taken as it is. oauth4webapi speaks the protocol; every
 * request goes through fetch-json.ts, and all requests of one exchange share one time limit. Nothing here
 * throws what a client should see: an exchange ends in a profile, `bad_code`, or `unavailable` after a report
 * to the operator.
 * Created by the composition root, called by replies/login.ts.
 */
import * as oauth from 'oauth4webapi';
import { Type } from 'typebox';
import type { Clock } from '../../engine/ports.ts';
import type { LoginProfile } from '../../storage/catalogue/people/logins.ts';
import { fetchBounded, fetchJson } from './fetch-json.ts';
import { type ProfileMapping, toLoginProfile } from './login-profile.ts';

/** Where the provider is: its issuer, or its addresses. */
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
  /** For all requests of one exchange together. */
  readonly timeLimitMs: number;
  readonly clock: Clock;
  /** Tells the operator why an exchange failed. Never given a code, token or secret. */
  readonly report: (words: string) => void;
}

export interface CodeExchange {
  readonly code: string;
  readonly redirectUri: string;
  /** PKCE verifier, `null` when the login began without our address. */
  readonly verifier: string | null;
}
export type CodeExchangeResult =
  | { readonly kind: 'profile'; readonly profile: LoginProfile }
  | { readonly kind: 'bad_code' | 'unavailable' };

export interface LoginProvider {
  readonly clientId: string;
  /** Where to send a user; `null` when the provider's addresses cannot be had now. */
  buildAuthorizeUrl(request: {
    readonly redirectUri: string;
    readonly state: string;
    readonly challenge: string;
  }): Promise<string | null>;
  exchange(exchange: CodeExchange): Promise<CodeExchangeResult>;
}

const answerBytesMax = 256 * 1024;
const discoveryCacheMs = 3_600_000;
/** So that many who want to log in do not ask a provider that is away as often. */
const failureCacheMs = 1_000;

interface ProviderState extends LoginProviderOptions {
  readonly client: oauth.Client;
  discovered: { readonly server: Promise<oauth.AuthorizationServer>; untilMs: number } | null;
}

/** Connects to nobody until it is asked. */
export const createLoginProvider = (options: LoginProviderOptions): LoginProvider => {
  const state: ProviderState = { ...options, client: { client_id: options.clientId }, discovered: null };
  return {
    clientId: options.clientId,
    buildAuthorizeUrl: (request) =>
      runOrReport(state, null, async () => {
        const server = await getServer(state, createTimeBudget(state));
        return buildAuthorizeUrl(server, { ...request, scopes: state.scopes, clientId: state.clientId });
      }),
    exchange: (request) =>
      runOrReport(state, { kind: 'unavailable' }, () =>
        exchangeCode(state, createTimeBudget(state), request),
      ),
  };
};

/** Runs the task; a failure is reported, and `fallback` is its value. */
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

/** The time left of one exchange, and requests that keep to it. */
interface TimeBudget {
  readonly leftMs: () => number;
  /** Plain http is for a provider of one's own; the operator has written it. */
  options(url: string): {
    readonly [oauth.customFetch]: (url: string, request: RequestInit) => Promise<Response>;
    readonly [oauth.allowInsecureRequests]: boolean;
  };
}

const createTimeBudget = ({ clock, timeLimitMs }: ProviderState): TimeBudget => {
  const endsMs = clock.monotonicMs() + timeLimitMs;
  const leftMs = () => Math.max(1, Math.ceil(endsMs - clock.monotonicMs()));
  const ask = async (url: string, request: RequestInit): Promise<Response> => {
    const raw = await fetchBounded(url, { timeLimitMs: leftMs(), answerBytesMax }, request);
    if ('reason' in raw) throw new Error(raw.reason);
    if (raw.text === null) throw new Error('an answer was too large');
    const { status, contentType, text } = raw;
    return new Response(text === '' ? null : text, { status, headers: { 'content-type': contentType } });
  };
  return {
    leftMs,
    options: (url) => ({
      [oauth.customFetch]: ask,
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
  const known = state.discovered;
  if (known !== null && known.untilMs > clock.monotonicMs()) return known.server;
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
  // Clients hand on the code without the issuer that came with it; with one provider nothing can be mixed.
  return { ...server, authorization_response_iss_parameter_supported: false };
};

const buildAuthorizeUrl = (
  server: oauth.AuthorizationServer,
  request: {
    readonly clientId: string;
    readonly redirectUri: string;
    readonly scopes: readonly string[];
    readonly state: string;
    readonly challenge: string;
  },
): string => {
  const url = new URL(server.authorization_endpoint ?? '');
  const parameters = {
    client_id: request.clientId,
    redirect_uri: request.redirectUri,
    response_type: 'code',
    scope: request.scopes.join(' '),
    state: request.state,
    code_challenge: request.challenge,
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
  const profile = toLoginProfile(state.profile, await readClaims(state, { server, tokens, limits }));
  if (profile === null) throw new Error('the profile has no id of 1 to 64 letters, digits or "-"');
  return { kind: 'profile', profile };
};

/** Only this answer is about the code; all others are about us or the provider. */
const returnNullIfBadCode = (error: unknown): null => {
  if (error instanceof oauth.ResponseBodyError && error.error === 'invalid_grant') return null;
  throw error;
};

const Claims = Type.Record(Type.String(), Type.Unknown());

const readClaims = async (
  { endpoints, client }: ProviderState,
  {
    server,
    tokens,
    limits,
  }: {
    readonly server: oauth.AuthorizationServer;
    readonly tokens: oauth.TokenEndpointResponse;
    readonly limits: TimeBudget;
  },
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
