/**
 * The schema of all settings: name, default and bounds. The last word of a name is its unit.
 *
 * The environment variable of `flushIntervalMs` is FLUSH_INTERVAL_MS, and so on. `config.example` explains
 * what each setting does and costs; a test compares names and defaults. Limits that operators cannot change
 * are in `engine/limits.ts`.
 */
import Type, { type Static, type TSchema } from 'typebox';
import { limits } from '../../engine/limits.ts';

const hourMs = 3_600_000;

const buildInteger = (value: number, [minimum, maximum]: readonly [number, number]) =>
  Type.Integer({ default: value, minimum, maximum, example: String(value) });
const count = (value: number, maximum: number) => buildInteger(value, [1, maximum]);
const buildChoice = <const Choice extends string>(
  value: Choice,
  choices: readonly Choice[],
  example: Choice,
) =>
  Type.Unsafe<Choice>(
    Type.Union(
      choices.map((choice) => Type.Literal(choice)),
      { default: value, example },
    ),
  );
const buildList = (about: { pattern: string; expected: string; example: string; maxItems?: number }) => {
  const { example, maxItems = 64, ...item } = about;
  return Type.Array(Type.String(item), { default: [], maxItems, example });
};
const buildText = (value: string, about: { pattern: string; expected: string; example: string }) =>
  Type.String({ default: value, ...about });
const host = buildText('127.0.0.1', {
  pattern: '^[A-Za-z0-9_.:%-]{1,253}$',
  expected: 'a host name or an address',
  example: '127.0.0.1',
});
const buildAddress = (example: string) =>
  buildText('', {
    pattern: '^(https?://[^/?#\\s]+(/[^?#\\s]*)?)?$',
    expected: 'an http or https address, or nothing',
    example,
  });
const buildAddressWithId = (example: string) =>
  buildText('', {
    pattern: '^(https?://[^/?#\\s{}]+/[^#\\s{}]*\\{id\\}[^#\\s{}]*)?$',
    expected: 'an http or https address with {id} in it, or nothing',
    example,
  });
const buildKey = (example: string) =>
  buildText('', {
    pattern: '^[!-~]{0,512}$',
    expected: 'up to 512 characters without blanks, or nothing',
    example,
  });
/** User and password of a store's address. Other characters would end them: the rest would be the host. */
const account = '((%[0-9A-Fa-f]{2}|[^\\s,/?#%])*@)?';
/** The hot store keeps the latest votes of two buckets, so no window may be longer than one bucket. */
const buildVoteWait = (value: number) =>
  Type.Number({
    default: value,
    minimum: 0.01,
    maximum: limits.voteBucketMs / hourMs,
    example: String(value),
  });

const settingsSchema = Type.Object({
  port: buildInteger(8_080, [0, 65_535]),
  host,
  publicUrl: buildText('', {
    pattern: '^(https?://[^/?#\\s]+(/[^?#\\s]*[^/?#\\s])?)?$',
    expected: 'an http or https address without a slash at the end, or nothing',
    example: 'https://api.example.org',
  }),
  adminPort: buildInteger(9_090, [0, 65_535]),
  adminHost: host,
  adminToken: buildText('', {
    pattern: '^([A-Za-z0-9_.~-]{32,256})?$',
    expected: '32 to 256 letters, digits or _ . ~ -, or nothing',
    example: 'd0rKt7QmUe3XzV9cYp5sLw2BnHa8GjFi4RoZ6Tu1',
  }),
  adminTokens: buildList({
    pattern: '^[a-z0-9][a-z0-9._-]{0,31}:[A-Za-z0-9_.~-]{32,256}(:read)?$',
    expected: 'name:token or name:token:read, separated by commas',
    example: 'robin:d0rKt7QmUe3XzV9cYp5sLw2BnHa8GjFi4RoZ6Tu1:read',
  }),
  adminHosts: buildList({
    pattern: '^[A-Za-z0-9_.-]{1,253}$',
    expected: 'host names without a port, separated by commas',
    example: 'node1.example.org',
  }),
  trustedProxies: buildList({
    pattern: '^[0-9A-Fa-f.:]{2,45}(/[0-9]{1,3})?$',
    expected: 'addresses or networks, separated by commas',
    example: '10.0.0.0/8,::1',
  }),
  bodyBytesMax: buildInteger(1_048_576, [65_536, 16_777_216]),
  workers: Type.Integer({ default: 1, minimum: 1, maximum: 64, example: '2' }),
  leaveMs: buildInteger(1_000, [0, 60_000]),
  drainMs: buildInteger(5_000, [100, 60_000]),
  logLevel: buildChoice('info', ['trace', 'debug', 'info', 'warn', 'error', 'silent'], 'info'),
  logFormat: buildChoice('auto', ['auto', 'text', 'json'], 'json'),

  dataDir: buildText('./data', {
    pattern: '^(?!~)[^\\0]{1,1024}$',
    expected: 'a folder (no ~, which only a shell expands)',
    example: './data',
  }),
  redisUrl: buildList({
    pattern: `^rediss?://${account}[^\\s,@]+$`,
    expected:
      'redis:// or rediss:// addresses (/ ? # % of a password encoded), separated by commas, or nothing',
    example: 'redis://127.0.0.1:6379',
  }),
  databaseUrl: buildText('', {
    pattern: `^(postgres(ql)?://(?=\\S)${account}[^\\s@?]*(\\?\\w+=\\S*)?)?$`,
    expected: 'a postgres:// address (/ ? # % of a password encoded), or nothing',
    example: 'postgres://rollcall@127.0.0.1:5432/rollcall',
  }),
  demo: buildChoice('auto', ['auto', 'on', 'off'], 'off'),
  flushIntervalMs: buildInteger(1_000, [50, 60_000]),
  actorsMax: buildInteger(limits.actorsMax, [1_000, 10_000_000]),

  voteWaitHours: buildVoteWait(12),
  voteWaitPremiumHours: buildVoteWait(4),
  voteWaitWeekendHours: buildVoteWait(6),
  votesPerWeekendRequest: count(2, 10),
  uptimeCheckMinutes: buildInteger(5, [1, 60]),
  uptimeFreshMinutes: buildInteger(15, [1, 1_440]),
  botShardStaleMinutes: buildInteger(15, [2, 1_440]),
  botShardGoneHours: buildInteger(24, [1, 720]),
  botShardSwitchMinutes: buildInteger(10, [1, 60]),
  historyFineMinutes: buildInteger(5, [0, 15]),
  historyFineHours: buildInteger(48, [0, 168]),
  historyHourDays: buildInteger(30, [0, 400]),
  visitorsPerEntityMax: buildInteger(1_000_000, [1_000, 100_000_000]),

  siteName: buildText('Rollcall', {
    pattern: '^[^\\x00-\\x1f\\x7f]{1,64}$',
    expected: '1 to 64 characters',
    example: 'Night market',
  }),
  siteLogoUrl: buildAddress('https://cdn.example.org/logo.svg'),
  siteAccent: buildText('#1f5fbf', {
    pattern: '^#([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$',
    expected: 'a colour as # with 3 or 6 hexadecimal digits',
    example: '#8a2be2',
  }),
  siteLinks: buildList({
    pattern: '^[^=\\x00-\\x1f\\x7f]{1,32}=(https?://[^\\s/]|/(?!/))\\S{0,1000}$',
    expected: 'title=address, separated by commas; an address is http, https or a path',
    example: 'Privacy=https://example.org/privacy',
    maxItems: 8,
  }),
  sitePages: buildChoice('on', ['on', 'off'], 'off'),

  loginIssuer: buildAddress('https://id.example.org'),
  loginAuthorizeUrl: buildAddress('https://chat.example.org/oauth2/authorize'),
  loginTokenUrl: buildAddress('https://chat.example.org/api/oauth2/token'),
  loginProfileUrl: buildAddress('https://chat.example.org/api/users/@me'),
  loginClientId: buildText('', {
    pattern: '^[!-~]{0,256}$',
    expected: 'up to 256 characters without blanks, or nothing',
    example: '815553000470478850',
  }),
  loginClientSecret: buildKey('what-the-provider-says'),
  loginClientAuth: buildChoice('basic', ['basic', 'post'], 'post'),
  loginScopes: buildList({
    pattern: '^[!#-+\\--\\[\\]-~]{1,128}$',
    expected: 'scopes, separated by commas',
    example: 'identify',
    maxItems: 32,
  }),
  loginRedirectUris: buildList({
    pattern: '^[a-z][a-z0-9+.-]*://[^\\s,#]{1,2000}$',
    expected: 'addresses without a fragment, separated by commas',
    example: 'https://example.org/login',
  }),
  loginProfileFields: buildList({
    pattern: '^(id|username|display_name|avatar)=[A-Za-z0-9_.:-]{1,128}$',
    expected: 'id=, username=, display_name= or avatar= with the name of a field',
    example: 'display_name=nick',
    maxItems: 4,
  }),
  loginAvatarUrl: buildText('', {
    pattern: '^(https://(?=[^\\s]*\\{avatar\\})[^\\s]{1,400})?$',
    expected: 'an https address with {avatar} in it, or nothing',
    example: 'https://cdn.example.org/avatars/{id}/{avatar}.png',
  }),
  loginSessionDays: count(30, 3_650),
  loginsPerMinute: count(5, 1_000_000),
  botCreationsPerMinute: count(5, 1_000_000),
  botMetaPerMinute: count(10, 1_000_000),
  authTestsPerMinute: count(60, 1_000_000),
  statsPostsPerSecond: count(1_000, 1_000_000),
  statsPostsBurst: count(2_000, 1_000_000),

  voteLog: buildChoice('public', ['public', 'owner'], 'owner'),
  compat: buildChoice('off', ['off', 'on'], 'on'),
  voteProof: buildChoice('off', ['off', 'flagged', 'always'], 'always'),
  proofProvider: buildChoice('turnstile', ['turnstile', 'hcaptcha', 'recaptcha'], 'hcaptcha'),
  proofVerifyUrl: buildAddress('https://challenges.cloudflare.com/turnstile/v0/siteverify'),
  proofSiteKey: buildKey('0x4AAAAAAAB1c2d3e4f5g6h7'),
  proofSecret: buildKey('what-the-provider-says'),
  proofHostname: buildText('', {
    pattern: '^([A-Za-z0-9.-]{1,253})?$',
    expected: 'a host name, or nothing',
    example: 'example.org',
  }),
  proofAction: buildText('', {
    pattern: '^[A-Za-z0-9_/-]{0,100}$',
    expected: 'up to 100 letters, digits or _ / -, or nothing',
    example: 'vote',
  }),
  proofWhenAway: buildChoice('allow', ['allow', 'refuse'], 'refuse'),
  feedConnectionsMax: buildInteger(20_000, [0, 1_000_000]),
  feedConnectionsPerAddressMax: count(20, 10_000),
  feedFrameMs: buildInteger(250, [50, 10_000]),
  badgeMaxAgeSeconds: buildInteger(300, [30, 86_400]),
  boardSeconds: buildInteger(60, [10, 3_600]),

  botLookupUrl: buildAddressWithId('https://lookup.example.org/v1/application/{id}'),
  botLookupFallbackUrl: buildAddressWithId('https://chat.example.org/api/applications/{id}/rpc'),

  sessionsPerEntityMax: count(100, 10_000),
  teamsPerUserMax: count(50, 10_000),
  packsPerUserMax: count(100, 10_000),
  remindersPerUserMax: count(200, 10_000),
  pushSubscriptionsPerUserMax: count(20, 1_000),
  membersPerTeamMax: count(200, 10_000),

  pushContact: buildText('', {
    pattern: '^(mailto:[^\\s@]+@[^\\s@]+|https://[^\\s]+)?$',
    expected: 'a mailto: or https: address, or nothing',
    example: 'mailto:operator@example.org',
  }),
  pushAddresses: buildChoice('public', ['public', 'any'], 'public'),

  voteOriginDays: buildInteger(90, [0, 365]),

  webhooks: buildChoice('on', ['on', 'off'], 'off'),
  webhooksPerEntityMax: count(5, 100),
  webhookTimeoutSeconds: count(10, 30),
  webhookDisableDays: count(5, 30),
  webhookLogDays: count(30, 365),
  webhookAddresses: buildChoice('public', ['public', 'public-http', 'any'], 'public'),
  secretsKey: buildText('', {
    pattern: '^([0-9a-fA-F]{64})?$',
    expected: '64 hexadecimal digits, or nothing',
    example: '4f1d2c3b5a69788796a5b4c3d2e1f00f1e2d3c4b5a69788796a5b4c3d2e1f00f',
  }),
});

/** All settings, checked and typed. */
export type Settings = Static<typeof settingsSchema>;
export type SettingName = keyof Settings & string;

/** `flushIntervalMs` → `FLUSH_INTERVAL_MS`. */
export const toVariable = (name: string): string =>
  name.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase();

/** What config.ts reads from a setting's schema. `expected` describes in English what a pattern allows. */
export type SettingSchema = TSchema & {
  readonly type?: 'integer' | 'number' | 'string' | 'array';
  readonly default: string | number | readonly string[];
  readonly example: string;
  readonly expected?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxItems?: number;
  readonly items?: { readonly expected: string };
  readonly anyOf?: readonly { readonly const: string }[];
};
/** Name and schema of each setting, in the order above. */
export const settingRows = Object.entries(settingsSchema.properties) as unknown as readonly [
  SettingName,
  SettingSchema,
][];
