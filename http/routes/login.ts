/**
 * Routes of the login with the chat platform (contract §4.1).
 */
import { checkLoginBody, logIn, showLoginUrl } from '../handlers/login.ts';
import { defineRoute, defineRoutes } from '../route.ts';
import { LoginBody, LoginUrl, LoginUrlQuery } from '../schema/login.ts';
import { SessionCreated } from '../schema/sessions.ts';

const path = '/auth/login/chat-oauth2';

export const loginRoutes = defineRoutes('Sessions and login', [
  defineRoute({
    name: 'getLoginUrl',
    pattern: `GET ${path}`,
    auth: { kind: 'public' },
    summary: 'Get the login page',
    description:
      'The address of the login page of the chat platform, with a state that is valid for one login ' +
      'within 10 minutes.',
    callsOutbound: true,
    query: LoginUrlQuery,
    replies: { 200: LoginUrl },
    errors: ['login_not_configured', 'login_unavailable'],
    handle: (app, { query }) => showLoginUrl(app, query),
  }),
  defineRoute({
    name: 'logIn',
    pattern: `POST ${path}`,
    auth: { kind: 'public' },
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
    check: ({ body }) => checkLoginBody(body),
    handle: (app, { body }) => logIn(app, body),
  }),
]);
