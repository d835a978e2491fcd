/**
 * Builds the login from the settings: the provider, the allowed redirect addresses, the profile fields to
 * store.
 *
 * Without these settings there is no login.
 */
import { createLoginStates, type Login } from '../../http/auth/login-state.ts';
import type { ProfileFields } from '../../http/outbound/login-profile.ts';
import {
  createLoginProvider,
  type LoginEndpoints,
  type LoginProvider,
} from '../../http/outbound/login-provider.ts';
import type { OutboundMeters } from '../../http/telemetry/counts.ts';
import { getOrCreateSecret } from '../../storage/nodes/membership.ts';
import type { Queryable } from '../../storage/sql/client.ts';
import { systemClock } from '../clock.ts';
import type { Config } from '../config/config.ts';

/** The deadline for all requests to the provider that one login makes. Below `limits.outboundDeadlineMs`. */
const timeLimitMs = 10_000;
const daySeconds = 86_400;

export interface LoginWatch {
  /** Logs for the operator why a login failed. */
  readonly report: (reason: string) => void;
  readonly meters: OutboundMeters;
}

/** Resolves to `null` when LOGIN_CLIENT_ID is not set. Creates the shared login secret on first use. */
export const openLogin = async (
  sql: Queryable,
  config: Config,
  { report, meters }: LoginWatch,
): Promise<Login | null> => {
  if (config.loginClientId === '') return null;
  const secret = await getOrCreateSecret(sql, 'login_secret');
  const openId = config.loginIssuer !== '';
  const provider = createLoginProvider({
    clientId: config.loginClientId,
    clientSecret: config.loginClientSecret,
    clientAuth: config.loginClientAuth,
    scopes:
      config.loginScopes.length > 0 ? config.loginScopes : openId ? ['openid', 'profile'] : ['identify'],
    endpoints: toEndpoints(config),
    profile: {
      fields: parseFields(config.loginProfileFields, openId ? openIdFields : oauthFields),
      avatarUrl: config.loginAvatarUrl,
    },
    timeLimitMs,
    clock: systemClock,
    report,
  });
  return {
    provider: measureLogins(provider, meters),
    states: createLoginStates(Buffer.from(secret, 'hex')),
    redirectUris: config.loginRedirectUris,
    sessionSeconds: config.loginSessionDays * daySeconds,
  };
};

/** Counts and times the exchange of codes, the only step that always sends requests to the provider. */
const measureLogins = (provider: LoginProvider, meters: OutboundMeters): LoginProvider => ({
  ...provider,
  exchange: async (request) => {
    const startedMs = systemClock.monotonicMs();
    const result = await provider.exchange(request);
    const outcome = result.kind === 'unavailable' ? 'failure' : 'success';
    meters.recordCall('login', outcome, systemClock.monotonicMs() - startedMs);
    return result;
  },
});

const oauthFields: ProfileFields = {
  id: 'id',
  username: 'username',
  display_name: 'global_name',
  avatar: 'avatar',
};
const openIdFields: ProfileFields = {
  id: 'sub',
  username: 'preferred_username',
  display_name: 'name',
  avatar: 'picture',
};

/** Replaces defaults by the configured pairs, such as `display_name=nick`. */
const parseFields = (pairs: readonly string[], defaults: ProfileFields): ProfileFields => ({
  ...defaults,
  ...Object.fromEntries(pairs.map((pair) => pair.split('=', 2))),
});

const toEndpoints = (config: Config): LoginEndpoints =>
  config.loginIssuer === ''
    ? {
        authorizeUrl: config.loginAuthorizeUrl,
        tokenUrl: config.loginTokenUrl,
        profileUrl: config.loginProfileUrl,
      }
    : { issuer: config.loginIssuer };
