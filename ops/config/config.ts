/**
 * Reads the settings from the environment, once, at start. No other file reads the environment.
 *
 * All mistakes are collected and reported together. Each message names the variable, its value, what is
 * allowed, and an example. The result is frozen and passed down as an argument; some settings are converted
 * here into the rules of the hot store and the limits of the listener.
 */
import { fileURLToPath } from 'node:url';
import { Check } from 'typebox/schema';
import type { CommitRules } from '../../engine/entity/items.ts';
import { defaultLimits, type LimitSettings } from '../../http/limits/limiter.ts';
import { parseTrustedProxies } from '../../http/server/client-address.ts';
import { addParameter, addPassword, findAddressMistake } from '../../storage/sql/address.ts';
import { findTlsMistake, tlsParameters } from '../../storage/sql/tls.ts';
import { type LogForm, selectLogForm } from '../log/log.ts';
import { findNearest } from './nearest.ts';
import { listOperatorMistakes } from './operators.ts';
import { type SettingName, type SettingSchema, type Settings, settingRows, toVariable } from './settings.ts';

export type Config = Readonly<Settings>;
/** Variables by name, as in `process.env`; an empty value counts as not set. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** All mistakes of one environment. The message lists each of them, for the operator. */
export class ConfigError extends Error {
  readonly mistakes: readonly string[];

  constructor(mistakes: readonly string[]) {
    const heading = mistakes.length === 1 ? 'A setting is wrong:' : `${mistakes.length} settings are wrong:`;
    super(
      [
        heading,
        ...mistakes.map((mistake) => `  ${mistake}`),
        'All settings are explained in config.example.',
      ].join('\n'),
    );
    this.name = 'ConfigError';
    this.mistakes = mistakes;
  }
}

/** Returns the settings, frozen. Throws `ConfigError` with all mistakes. */
export const readConfig = (environment: Environment = process.env): Config => {
  const settings: Record<string, unknown> = {};
  const mistakes: string[] = [];
  for (const [name, schema] of settingRows) {
    const given = environment[toVariable(name)]?.trim() ?? '';
    const value = given === '' ? structuredClone(schema.default) : parse(given, schema);
    if (given !== '' && !(Check(schema, value) && [value].flat().every(isReadable)))
      mistakes.push(explainSetting(toVariable(name), given, schema));
    else settings[name] = value;
  }
  settings.databaseUrl = completeAddress(settings.databaseUrl as string | undefined, environment);
  mistakes.push(...listAddressMistakes(settings as Partial<Settings>));
  mistakes.push(...listBadNetworks(settings.trustedProxies as readonly string[] | undefined));
  mistakes.push(...listContradictions(settings as Partial<Settings>));
  mistakes.push(...listOperatorMistakes(settings as Partial<Settings>));
  if (mistakes.length > 0) throw new ConfigError(mistakes);
  for (const value of Object.values(settings)) Object.freeze(value);
  return Object.freeze(settings as Settings);
};

/**
 * Adds what the environment says in place of the address of Postgres: the password, PGSSLMODE and so on. The
 * programs of Postgres get the address alone.
 */
const completeAddress = (address: string | undefined, environment: Environment): string | undefined => {
  if (address === undefined || address === '') return address;
  return tlsParameters.reduce(
    (all, name) => addParameter(all, name, environment[`PG${name.toUpperCase()}`]),
    addPassword(address, environment.PGPASSWORD ?? ''),
  );
};

/** Mistakes in the parameters of the stores' addresses. */
const listAddressMistakes = ({ databaseUrl = '', redisUrl = [] }: Partial<Settings>): string[] => {
  const mistake = findAddressMistake(databaseUrl) ?? findTlsMistake(databaseUrl);
  const mistakes = mistake === null ? [] : [`DATABASE_URL: ${mistake}`];
  if (redisUrl.some((url) => /(^|&)(tls|ssl)/i.test(url.split('?')[1] ?? '')))
    mistakes.push('REDIS_URL: TLS is requested by rediss:// alone: remove the options of the address');
  if (new Set(redisUrl.map((url) => url.split(':')[0])).size > 1)
    mistakes.push('REDIS_URL: the nodes of a Cluster all have TLS or none: write rediss:// everywhere');
  return mistakes;
};

/** Not an address with a port above 65535, for example. Those of Postgres may name several hosts. */
const isReadable = (value: unknown): boolean =>
  !/^(https?|rediss?):\/\//.test(String(value)) || URL.canParse(String(value));

/** The form of the log by an environment whose other settings may be wrong: for messages about them. */
export const readLogForm = (environment: Environment = process.env): LogForm => {
  const given = environment.LOG_FORMAT?.trim();
  const logFormat = given === 'text' || given === 'json' ? given : 'auto';
  return selectLogForm({ logFormat, redisUrl: environment.REDIS_URL ? [environment.REDIS_URL] : [] });
};

/** Shorter names are too similar to variables of other programs. */
const suggestedCharactersMin = 6;

/**
 * Returns a note for each variable that is not a setting but is spelt almost like one that is not set. These
 * are not mistakes: the variable may belong to another program.
 */
export const findMisspeltSettings = (environment: Environment = process.env): readonly string[] => {
  const variables = settingRows.map(([name]) => toVariable(name));
  const unset = variables.filter((name) => !environment[name] && name.length >= suggestedCharactersMin);
  const suggest = (name: string): readonly string[] => {
    const nearest = findNearest(name, unset);
    return nearest === null ? [] : [`${name} is not a setting. Did you mean ${nearest}?`];
  };
  return Object.keys(environment)
    .filter((name) => !variables.includes(name))
    .flatMap(suggest);
};

/** Converts the settings into the rules that the hot store applies to each command, in ms. */
export const toCommitRules = (
  config: Config,
  downtimes: CommitRules['uptime']['downtimes'],
): CommitRules => ({
  windows: {
    standard: { waitMs: hoursToMs(config.voteWaitHours), perUser: 1 },
    premium: { waitMs: hoursToMs(config.voteWaitPremiumHours), perUser: 1 },
    weekend: { waitMs: hoursToMs(config.voteWaitWeekendHours), perUser: config.votesPerWeekendRequest },
  },
  uptime: {
    checkMs: minutesToMs(config.uptimeCheckMinutes),
    freshMs: minutesToMs(config.uptimeFreshMinutes),
    downtimes,
  },
  parts: {
    staleMs: minutesToMs(config.botShardStaleMinutes),
    goneMs: hoursToMs(config.botShardGoneHours),
    switchMs: minutesToMs(config.botShardSwitchMinutes),
  },
  visitorsMax: config.visitorsPerEntityMax,
});

const limitPerMinute = (requests: number) => ({ requests, seconds: 60, burst: requests });

/** All rate limits of the public listener; `stats` is per token, the others are per client address. */
export const toLimitSettings = (config: Config): LimitSettings => ({
  ...defaultLimits,
  login: limitPerMinute(config.loginsPerMinute),
  bot_create: limitPerMinute(config.botCreationsPerMinute),
  bot_meta: limitPerMinute(config.botMetaPerMinute),
  auth_test: limitPerMinute(config.authTestsPerMinute),
  stats: { requests: config.statsPostsPerSecond, seconds: 1, burst: config.statsPostsBurst },
});

/** Whether an empty store gets the demo directory. `auto` means: only on the embedded stores. */
export const isDemoWanted = (config: Config): boolean =>
  config.demo === 'auto' ? config.redisUrl.length === 0 && config.databaseUrl === '' : config.demo === 'on';

const hoursToMs = (value: number): number => Math.round(value * 3_600_000);
const minutesToMs = (value: number): number => value * 60_000;

const parse = (given: string, schema: SettingSchema): unknown => {
  if (schema.type === 'array') return given.split(',').map((part) => part.trim());
  // Only plain decimals: `Number` would also accept 0x10, 1e3 and blanks.
  if (schema.type === 'integer' || schema.type === 'number') {
    return /^-?\d{1,15}(\.\d{1,6})?$/.test(given) ? Number(given) : given;
  }
  return given;
};

const explainSetting = (variable: string, given: string, schema: SettingSchema): string => {
  const masked = maskPassword(given);
  const shown = masked.length > 60 ? `${masked.slice(0, 60)}…` : masked;
  const example = `${variable}=${schema.example}`;
  const isHidden = secretNames.test(variable) || (storeNames.test(variable) && !given.includes('://'));
  const value = isHidden ? 'something else (not shown)' : `"${shown}"`;
  return `${variable} is ${value} but must be ${describeAllowed(schema)}, for example ${example}`;
};

const describeAllowed = (schema: SettingSchema): string => {
  if (schema.anyOf) return `one of ${schema.anyOf.map((choice) => choice.const).join(', ')}`;
  if (schema.type === 'array') return `${schema.items?.expected} (at most ${schema.maxItems})`;
  if (schema.type === 'string') return schema.expected ?? 'some text';
  const kind = schema.type === 'integer' ? 'a whole number' : 'a number';
  return `${kind} from ${schema.minimum} to ${schema.maximum}`;
};

const secretNames = /_(TOKENS?|SECRET|KEY)$/;
/** In a text that is no valid address, the password cannot be distinguished from the rest. */
const storeNames = /^(REDIS|DATABASE)_URL$/;

/**
 * A mistyped address may still contain a password, and start messages end up in logs. Passwords may contain
 * any character, so everything up to the last `@` is hidden, and what follows a `?` or an odd port.
 */
const maskPassword = (given: string): string =>
  given
    .replace(/^([a-z]*:\/\/)?([^:@/]*:)?.*@/is, '$1$2***@')
    .replace(/\?.*$/s, '?***')
    .replace(/(?<=:\/\/[^/:]*:)(?!\d+\b|\*).*$/s, '***');

/** Mistakes in TRUSTED_PROXIES that its pattern cannot find. */
const listBadNetworks = (networks: readonly string[] = []): string[] =>
  networks.flatMap((network) => {
    try {
      parseTrustedProxies([network]);
      return [];
    } catch (error) {
      return [(error as Error).message];
    }
  });

/** Settings that are valid alone but contradict each other. Settings that are already wrong are skipped. */
const listContradictions = (settings: Partial<Settings>): string[] => {
  const mistakes: string[] = [];
  const addMistake = (one: SettingName, other: SettingName, reason: string): void => {
    mistakes.push(`${toVariable(one)} and ${toVariable(other)}: ${reason}`);
  };
  const { port, adminPort, demo } = settings;
  if (port !== undefined && port !== 0 && port === adminPort) {
    addMistake('port', 'adminPort', `both are ${port}; each listener needs a port of its own`);
  }
  if (isAbove(settings.uptimeCheckMinutes, settings.uptimeFreshMinutes)) {
    addMistake('uptimeCheckMinutes', 'uptimeFreshMinutes', 'stats must stay fresh for at least one check');
  }
  if (isAbove(settings.botShardStaleMinutes, (settings.botShardGoneHours ?? Infinity) * 60)) {
    addMistake('botShardStaleMinutes', 'botShardGoneHours', 'a shard must be stale before it is gone');
  }
  if (settings.historyFineMinutes && 60 % settings.historyFineMinutes !== 0) {
    mistakes.push('HISTORY_FINE_MINUTES must divide 60: 1, 2, 3, 4, 5, 6, 10, 12 or 15; 0 for no history');
  }
  if (isAbove(settings.statsPostsPerSecond, settings.statsPostsBurst)) {
    addMistake(
      'statsPostsPerSecond',
      'statsPostsBurst',
      'the burst must be at least one second’s worth of posts',
    );
  }
  if ((settings.redisUrl?.length ?? 0) > 0 && settings.databaseUrl === '') {
    addMistake('redisUrl', 'databaseUrl', 'Redis needs a Postgres beside it: set both, or unset REDIS_URL');
  }
  const servers = [settings.redisUrl?.length ? 'redisUrl' : '', settings.databaseUrl ? 'databaseUrl' : ''];
  const named = servers.find((name) => name !== '') as SettingName | undefined;
  if (demo === 'on' && named)
    addMistake('demo', named, 'the demo directory works only on the embedded stores');
  mistakes.push(...listWorkerMistakes(settings), ...listProofMistakes(settings));
  mistakes.push(...listLoginMistakes(settings));
  return mistakes;
};

const loginEndpoints = ['loginAuthorizeUrl', 'loginTokenUrl', 'loginProfileUrl'] as const;
const loginSettings = ['loginClientId', 'loginClientSecret', 'loginRedirectUris'] as const;

/** A login needs all settings of one provider. One that is already wrong is absent here, not missing. */
const listLoginMistakes = (settings: Partial<Settings>): string[] => {
  const isSet = (name: SettingName): boolean => settings[name]?.toString() !== '';
  if (![...loginSettings, ...loginEndpoints, 'loginIssuer' as const].some(isSet)) return [];
  const missing = loginSettings.filter((name) => !isSet(name)).map(toVariable);
  const mistakes = missing.map(
    (variable) => `${variable}: other login settings are set, so set this one too`,
  );
  const named = loginEndpoints.filter(isSet);
  if (isSet('loginIssuer') ? named.length > 0 : named.length < loginEndpoints.length) {
    const variables = loginEndpoints.map(toVariable).join(', ');
    mistakes.push(`LOGIN_ISSUER: set either this one, or all of ${variables}`);
  }
  return mistakes;
};

/** A proof needs the keys of its provider. */
const listProofMistakes = (settings: Partial<Settings>): string[] => {
  const { voteProof, proofSecret, proofSiteKey, voteOriginDays } = settings;
  if (voteProof === undefined || voteProof === 'off') return [];
  const missing = [
    ...(proofSecret === '' ? ['PROOF_SECRET'] : []),
    ...(proofSiteKey === '' ? ['PROOF_SITE_KEY'] : []),
    ...(voteProof === 'flagged' && voteOriginDays === 0 ? ['VOTE_ORIGIN_DAYS'] : []),
  ];
  return missing.map((variable) => `${variable}: VOTE_PROOF is ${voteProof}, so set this one too`);
};

const portMax = 65_535;

/** Mistakes in the settings that several processes on one port need. */
const listWorkerMistakes = ({ workers = 1, redisUrl, port, adminPort }: Partial<Settings>): string[] => {
  if (workers === 1) return [];
  const mistakes: string[] = [];
  const prefix = `WORKERS is ${workers}`;
  if (redisUrl?.length === 0) {
    mistakes.push(
      `${prefix} but the counters in DATA_DIR belong to one process: set REDIS_URL and DATABASE_URL`,
    );
  }
  if (port === 0)
    mistakes.push(`${prefix} and PORT is 0: workers share one port, so set it to a number above 0`);
  if (adminPort === undefined) return mistakes;
  const last = adminPort + workers - 1;
  if (adminPort === 0 || last > portMax) {
    const allowed = `1 to ${portMax - workers + 1}`;
    mistakes.push(
      `${prefix} and ADMIN_PORT is ${adminPort}: worker n takes ADMIN_PORT + n - 1, so set it to ${allowed}`,
    );
  } else if (port !== undefined && port > adminPort && port <= last) {
    mistakes.push(
      `${prefix} and PORT is ${port}: the workers take the ports ${adminPort} to ${last} (ADMIN_PORT)`,
    );
  }
  return mistakes;
};

const isAbove = (one: number | undefined, other: number | undefined): boolean =>
  one !== undefined && other !== undefined && one > other;

const program = fileURLToPath(new URL('../bin/rollcall', import.meta.url));

/** How an operator's commands begin in this installation: started by npm, or by the program. */
export const findCommandStart = (environment: Environment = process.env): string =>
  environment.npm_lifecycle_event === undefined ? `${program} ops` : 'npm run ops --';
