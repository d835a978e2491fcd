/**
 * The login with the chat platform (contract §4.1).
 *
 * A code is claimed (marked as used) before it is sent to the provider, so only one of several
 * simultaneous requests sends it. The claim is released if the exchange fails for another reason than the
 * code. The user and their session are written last, in one transaction. Order of the checks:
 * docs/behaviour/tokens.md.
 */
import { hash } from 'node:crypto';
import { type Static, Type } from 'typebox';
import { DomainError } from '../../engine/errors.ts';
import type { LoginProfile, LoginUse } from '../../storage/catalogue/people/logins.ts';
import type { App } from '../app.ts';
import type { Login } from '../auth/login-state.ts';
import { mintToken } from '../auth/mint.ts';
import { createUnavailableError, createValidationError } from '../response/errors.ts';
import { type Reply, replyOk } from '../response/reply.ts';
import { definePublicRoute, defineRoutes } from '../route.ts';
import { SessionCreated } from './sessions.ts';
import { buildName, buildText } from './shared/common.ts';
import { buildObject } from './shared/example.ts';

const exampleUri = 'https://example.org/login';

export const LoginUrlQuery = Type.Object({
  redirect_uri: Type.Optional(
    buildName(
      2_048,
      'The address to which the provider sends the user back; the first allowed one if absent.',
      exampleUri,
    ),
  ),
});
const stateExample = 'm9ksr3t4.2lN1xq5cV0aYd8fGh3jKlw.b6Zr0m7Q9pXcV2nB4tYs8uWk1eHd5gJf3aLqRoTiMxU';

export const LoginUrl = buildObject({
  client_id: buildText('815553000470478850', "This directory's id at the provider."),
  url: buildText(
    'https://chat.example.org/oauth2/authorize?response_type=code',
    'Address of the login page. Send the user there.',
  ),
  state: buildText(
    stateExample,
    'Compare it with the state that comes back, then send it with the code. Valid for 10 minutes.',
  ),
});
export type LoginUrl = Static<typeof LoginUrl>;
export const loginProtocol = 'persepolis';

export const LoginBody = buildObject({
  client_id: buildName(
    256,
    "This directory's id at the provider, as `GET` returns it.",
    '815553000470478850',
  ),
  code: buildName(4_096, 'The code that the provider issued; valid once.', 'NhhvTDYsFcdg'),
  protocol: Type.String({ description: `Must be \`${loginProtocol}\`.`, examples: [loginProtocol] }),
  redirect_uri: buildName(
    2_048,
    'The address to which the provider sent the user back; one that the operator allows.',
    exampleUri,
  ),
  scope: Type.Enum(['normal', 'ban_exempt', 'external_auth'], {
    description: 'Banned users must use `ban_exempt`; other users must not.',
    examples: ['normal'],
  }),
  state: Type.Optional(
    buildName(
      256,
      'The state from `GET`. It binds the exchange to that login page; valid once.',
      stateExample,
    ),
  ),
});
export type LoginBody = Static<typeof LoginBody>;
const path = '/auth/login/chat-oauth2';

export const loginRoutes = defineRoutes('Sessions and login', [
  definePublicRoute('getLoginUrl', `GET ${path}`, {
    summary: 'Get the login page',
    description:
      'The address of the login page of the chat platform, with a state that is valid for one login ' +
      'within 10 minutes.',
    callsOutbound: true,
    query: LoginUrlQuery,
    replies: { 200: LoginUrl },
    errors: ['login_not_configured', 'login_unavailable'],
    handle: async (app, { query }) => {
      const login = requireLogin(app);
      const redirectUri = query.redirect_uri ?? (login.redirectUris[0] as string);
      checkRedirect(login, redirectUri);
      const { state, challenge } = login.states.create(app.clock.nowMs());
      const url = await login.provider.buildAuthorizeUrl({ redirectUri, state, challenge });
      if (url === null) throw createProviderError();
      return replyOk<LoginUrl>({ client_id: login.provider.clientId, url, state });
    },
  }),
  definePublicRoute('logIn', `POST ${path}`, {
    summary: 'Log in',
    description:
      "Exchanges the platform's code for a user token, which lasts 30 days. Only this reply shows it.",
    limit: 'login',
    callsOutbound: true,
    body: LoginBody,
    replies: { 200: SessionCreated },
    errors: [
      'protocol_unsupported',
      'login_not_configured',
      'login_code_invalid',
      'login_state_invalid',
      'banned',
      'forbidden',
      'login_unavailable',
    ],
    // Tells old clients the protocol.
    check: ({ body }) => {
      if (body.protocol === loginProtocol) return;
      const message = `The login requires the protocol "${loginProtocol}".`;
      throw new DomainError('protocol_unsupported', message, { '/protocol': `must be "${loginProtocol}"` });
    },
    handle: (app, { body }) => logIn(app, body),
  }),
]);

const createProviderError = (): DomainError =>
  createUnavailableError('login_unavailable', 'The login provider does not answer correctly. Try again.', 5);

const requireLogin = (app: App): Login => {
  if (app.login !== null) return app.login;
  throw new DomainError('login_not_configured', 'This directory has no login provider.');
};

/** Accepts only the addresses that the operator configured, compared exactly. */
const checkRedirect = (login: Login, redirectUri: string): void => {
  if (!login.redirectUris.includes(redirectUri)) {
    throw createValidationError('login', { '/redirect_uri': 'must be one of the allowed addresses' });
  }
};

/** What this login claimed, to be released if the exchange fails. */
type ClaimedUses = [LoginUse, Buffer][];

const claimUse = async (app: App, claimed: ClaimedUses, use: { kind: LoginUse; secret: string }) => {
  const digest = hash('sha256', use.secret, 'buffer');
  if (!(await app.catalogue.logins.claim(use.kind, digest))) return false;
  claimed.push([use.kind, digest]);
  return true;
};

const releaseUses = async (app: App, claimed: ClaimedUses): Promise<void> => {
  for (const [kind, digest] of claimed) await app.catalogue.logins.release(kind, digest);
};

const createUsedError = (what: 'code' | 'state'): DomainError =>
  new DomainError(
    `login_${what}_invalid`,
    `This ${what} is unknown, expired or already used. Start the login again.`,
  );

/** Claims the state and returns its verifier (`null`: no state). Releases all claims before it throws. */
const claimVerifier = async (
  app: App,
  login: Login,
  uses: { state: string | undefined; claimed: ClaimedUses },
) => {
  if (uses.state === undefined) return null;
  const verifier = login.states.findVerifier(uses.state, app.clock.nowMs());
  if (verifier !== null && (await claimUse(app, uses.claimed, { kind: 'state', secret: uses.state }))) {
    return verifier;
  }
  await releaseUses(app, uses.claimed);
  throw createUsedError('state');
};

const exchangeCode = async (app: App, login: Login, body: LoginBody): Promise<LoginProfile> => {
  const claimed: ClaimedUses = [];
  if (!(await claimUse(app, claimed, { kind: 'code', secret: body.code }))) throw createUsedError('code');
  const { code, state, redirect_uri: redirectUri } = body;
  const verifier = await claimVerifier(app, login, { state, claimed });
  const exchanged = await login.provider.exchange({ code, redirectUri, verifier });
  if (exchanged.kind === 'profile') return exchanged.profile;
  if (exchanged.kind === 'bad_code') throw createUsedError('code');
  await releaseUses(app, claimed);
  throw createProviderError();
};

/** `POST /auth/login/chat-oauth2`. *Ledger* (user and session) when it resolves. */
const logIn = async (app: App, body: LoginBody): Promise<Reply> => {
  const login = requireLogin(app);
  checkRedirect(login, body.redirect_uri);
  if (body.client_id !== login.provider.clientId)
    throw createValidationError('login', { '/client_id': 'must be the client_id that GET returns' });
  const profile = await exchangeCode(app, login, body);
  const { id, token, tokenHash } = mintToken({ kind: 'user', id: profile.id });
  const session = { id, tokenHash, lastsSeconds: login.sessionSeconds };
  const banExempt = body.scope === 'ban_exempt';
  const outcome = await app.catalogue.logins.signIn({ profile, banExempt, session });
  if (outcome === 'banned') {
    throw new DomainError('banned', 'This user is banned and can log in only with the scope "ban_exempt".');
  }
  if (outcome === 'not_banned') {
    throw new DomainError('forbidden', 'Only banned users can use the scope "ban_exempt".');
  }
  return replyOk<SessionCreated>({ session_id: id, target_id: profile.id, token });
};
