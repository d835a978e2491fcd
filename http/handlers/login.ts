/**
 * Logging in with a code of the provider.
 *
 * A code is marked as used before the provider is asked, so of simultaneous requests only one asks; the mark
 * is taken back when the exchange came to nothing through no fault of the code. The user and his session are
 * written last, in one transaction. Order of the checks: docs/behaviour.md, "Login".
 */
import { hash } from 'node:crypto';
import { DomainError } from '../../engine/errors.ts';
import type { LoginProfile, LoginUse } from '../../storage/catalogue/people/logins.ts';
import type { Login } from '../auth/login-state.ts';
import { mintToken } from '../auth/mint.ts';
import { createValidationError } from '../response/validation-error.ts';
import { type App, type Reply, replyOk } from '../route.ts';
import { type LoginBody, type LoginUrl, type LoginUrlQuery, loginProtocol } from '../schema/login.ts';
import type { SessionCreated } from '../schema/sessions.ts';

const unavailableRetrySeconds = 5;

const createUnavailableError = (): DomainError =>
  new DomainError(
    'login_unavailable',
    'The login provider does not answer as it should. Please try again.',
    { outcome: 'not_applied' },
    unavailableRetrySeconds,
  );

const requireLogin = (app: App): Login => {
  if (app.login !== null) return app.login;
  throw new DomainError('login_not_configured', 'This directory has no login provider.');
};

const createFieldError = (field: string, words: string): DomainError =>
  createValidationError('login', { [`/${field}`]: words });

/** Only addresses the operator has written down, compared letter by letter. */
const checkRedirect = (login: Login, redirectUri: string): void => {
  if (!login.redirectUris.includes(redirectUri)) {
    throw createFieldError('redirect_uri', 'must be one of the addresses that are allowed here');
  }
};

/** `GET /auth/login/chat-oauth2`. Writes nothing. */
export const showLoginUrl = async (app: App, query: LoginUrlQuery): Promise<Reply> => {
  const login = requireLogin(app);
  const redirectUri = query.redirect_uri ?? (login.redirectUris[0] as string);
  checkRedirect(login, redirectUri);
  const { state, challenge } = login.states.create(app.clock.nowMs());
  const url = await login.provider.buildAuthorizeUrl({ redirectUri, state, challenge });
  if (url === null) throw createUnavailableError();
  const reply: LoginUrl = { client_id: login.provider.clientId, url, state };
  return replyOk(reply);
};

/** Old clients are told what they lack. Throws `protocol_unsupported`. */
export const checkLoginBody = (body: LoginBody): void => {
  if (body.protocol === loginProtocol) return;
  throw new DomainError('protocol_unsupported', `This needs the protocol "${loginProtocol}".`, {
    '/protocol': `must be "${loginProtocol}"`,
  });
};

/** Uses of this login: what to take back when it comes to nothing. */
type ClaimedUses = [LoginUse, Buffer][];

const claimUse = async (
  app: App,
  claimed: ClaimedUses,
  use: { kind: LoginUse; word: string },
): Promise<boolean> => {
  const digest = hash('sha256', use.word, 'buffer');
  if (!(await app.catalogue.logins.claim(use.kind, digest))) return false;
  claimed.push([use.kind, digest]);
  return true;
};

const releaseUses = async (app: App, claimed: ClaimedUses): Promise<void> => {
  for (const [kind, digest] of claimed) await app.catalogue.logins.release(kind, digest);
};

const createBadCodeError = (): DomainError =>
  new DomainError('login_code_invalid', 'This code is unknown, expired or used: start the login again.');
const createBadStateError = (): DomainError =>
  new DomainError('login_state_invalid', 'This state is unknown, expired or used: start the login again.');

/** The verifier of the state, `null` without one. Throws after taking back what was claimed. */
const claimVerifier = async (app: App, login: Login, uses: { state?: string; claimed: ClaimedUses }) => {
  if (uses.state === undefined) return null;
  const verifier = login.states.findVerifier(uses.state, app.clock.nowMs());
  if (verifier !== null && (await claimUse(app, uses.claimed, { kind: 'state', word: uses.state }))) {
    return verifier;
  }
  await releaseUses(app, uses.claimed);
  throw createBadStateError();
};

const exchangeCode = async (app: App, login: Login, body: LoginBody): Promise<LoginProfile> => {
  const claimed: ClaimedUses = [];
  if (!(await claimUse(app, claimed, { kind: 'code', word: body.code }))) throw createBadCodeError();
  const { code, state, redirect_uri: redirectUri } = body;
  const verifier = await claimVerifier(app, login, state === undefined ? { claimed } : { state, claimed });
  const exchanged = await login.provider.exchange({ code, redirectUri, verifier });
  if (exchanged.kind === 'profile') return exchanged.profile;
  if (exchanged.kind === 'bad_code') throw createBadCodeError();
  await releaseUses(app, claimed);
  throw createUnavailableError();
};

/** `POST /auth/login/chat-oauth2`: the user and the session are in the ledger when this resolves. */
export const logIn = async (app: App, body: LoginBody): Promise<Reply> => {
  const login = requireLogin(app);
  checkRedirect(login, body.redirect_uri);
  if (body.client_id !== login.provider.clientId) throw createFieldError('client_id', 'must be ours');
  const profile = await exchangeCode(app, login, body);
  const { id, token, tokenHash } = mintToken({ kind: 'user', id: profile.id });
  const session = { id, tokenHash, lastsSeconds: login.sessionSeconds };
  const banExempt = body.scope === 'ban_exempt';
  const outcome = await app.catalogue.logins.signIn({ profile, banExempt, session });
  if (outcome === 'banned') {
    throw new DomainError('banned', 'This user is banned and can log in with the scope "ban_exempt" only.');
  }
  if (outcome === 'not_banned') {
    throw new DomainError('forbidden', 'The scope "ban_exempt" is for banned users only.');
  }
  const reply: SessionCreated = { session_id: id, target_id: profile.id, token };
  return replyOk(reply);
};
