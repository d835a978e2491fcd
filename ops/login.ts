/**
 * The login, made from the settings: which provider, whom it may send where, what of its words we keep.
 *
 * A directory without these settings has no login. Called by rollcall.ts.
 */
import type { Logger } from 'pino';
import { createLoginStates, type Login } from '../http/auth/login-state.ts';
import type { ProfileFields } from '../http/outbound/login-profile.ts';
import {
  createLoginProvider,
  type LoginEndpoints,
  type LoginProvider,
} from '../http/outbound/login-provider.ts';
import type { OutboundMeters } from '../http/telemetry/outbound-meters.ts';
import { createRateLimitedLog } from '../http/telemetry/rate-limited-log.ts';
import { getOrCreateSecret } from '../storage/nodes/membership.ts';
import type { Queryable } from '../storage/sql/client.ts';
import { systemClock } from './clock.ts';
import type { Config } from './config.ts';

/** For everything that one login asks the provider. Below `limits.outboundDeadlineMs`. */
const timeLimitMs = 10_000;
const daySeconds = 86_400;

/** `report` tells the operator why logins fail. */
export interface LoginWatch {
  readonly report: (words: string) => void;
  readonly meters: OutboundMeters;
}

/** `null` when no provider is named. */
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
      fields: parseFields(config.loginProfileFields, openId ? openIdFields : plainFields),
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

/** Sending a user away asks nobody but for discovery; what is counted is the exchange. */
const measureLogins = (provider: LoginProvider, meters: OutboundMeters): LoginProvider => ({
  ...provider,
  exchange: async (request) => {
    const startedMs = systemClock.monotonicMs();
    const exchanged = await provider.exchange(request);
    const outcome = exchanged.kind === 'unavailable' ? 'failure' : 'success';
    meters.recordCall('login', outcome, systemClock.monotonicMs() - startedMs);
    return exchanged;
  },
});

/** Why logins fail, at most 20 lines a second. */
export const createLoginReporter = (logger: Logger): ((words: string) => void) => {
  const log = createRateLimitedLog(logger, systemClock);
  return (words) => log.error({}, words);
};

const plainFields: ProfileFields = {
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

/** `display_name=nick` and the like over the defaults. */
const parseFields = (words: readonly string[], defaults: ProfileFields): ProfileFields => ({
  ...defaults,
  ...Object.fromEntries(words.map((word) => word.split('=', 2))),
});

const toEndpoints = (config: Config): LoginEndpoints =>
  config.loginIssuer === ''
    ? {
        authorizeUrl: config.loginAuthorizeUrl,
        tokenUrl: config.loginTokenUrl,
        profileUrl: config.loginProfileUrl,
      }
    : { issuer: config.loginIssuer };
