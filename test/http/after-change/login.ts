/**
 * The login of a world at an OpenID Connect provider on loopback.
 */
import { randomBytes } from 'node:crypto';
import { createLoginStates, type Login } from '../../../http/auth/login-state.ts';
import { createLoginProvider } from '../../../http/outbound/login-provider.ts';
import { systemClock } from '../../../ops/clock.ts';
import { clientId, clientSecret, redirectUri, visit } from '../../support/login-provider.ts';
import type { Attempt, Request } from './operations.ts';

const path = '/auth/login/chat-oauth2';

export const createLogin = (issuer: string): Login => ({
  provider: createLoginProvider({
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
    report: () => {},
  }),
  states: createLoginStates(randomBytes(32)),
  redirectUris: [redirectUri],
  sessionSeconds: 30 * 86_400,
});

/** A login of a user whom the provider has sent back. */
export const prepareLogin = async ({ world, name }: Attempt): Promise<Request> => {
  const { url } = (await world.ask('GET', path)).json;
  const back = await visit(url, name);
  const fields = { client_id: clientId, protocol: 'persepolis', redirect_uri: redirectUri, scope: 'normal' };
  return [`POST ${path}`, { ...fields, code: back.get('code'), state: back.get('state') }];
};
