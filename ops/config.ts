/**
 * Reads the settings: the only file that looks at the environment, once, at start.
 *
 * Every mistake is found before anything is said, and each is told in words a person can act on: the name,
 * what was given, what is allowed, an example. The result is frozen and handed down; nothing below asks
 * again. Called by the composition root and the command line.
 */
import { Value } from 'typebox/value';
import type { CommitRules } from '../engine/entity/items.ts';
import { parseTrustedProxies } from '../http/server/client-address.ts';
import { findNearest } from './cli/nearest.ts';
import { listLoginMistakes } from './login-settings.ts';
import { type SettingName, type SettingSchema, type Settings, settingRows, toVariable } from './settings.ts';

export type Config = Readonly<Settings>;
/** Variables by name, as in `process.env`; an empty one counts as not set. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** All mistakes of one environment; the message is for the operator and complete. */
export class ConfigError extends Error {
  readonly mistakes: readonly string[];

  constructor(mistakes: readonly string[]) {
    const heading = mistakes.length === 1 ? 'A setting is wrong:' : `${mistakes.length} settings are wrong:`;
    super(
      [
        heading,
        ...mistakes.map((words) => `  ${words}`),
        'All settings are explained in config.example.',
      ].join('\n'),
    );
    this.name = 'ConfigError';
    this.mistakes = mistakes;
  }
}

/** The settings of this process. Throws `ConfigError`. */
export const readConfig = (environment: Environment = process.env): Config => {
  const settings: Record<string, unknown> = {};
  const mistakes: string[] = [];
  for (const [name, schema] of settingRows) {
    const given = environment[toVariable(name)]?.trim() ?? '';
    const value = given === '' ? structuredClone(schema.default) : parse(given, schema);
    if (given !== '' && !Value.Check(schema, value))
      mistakes.push(explainSetting(toVariable(name), given, schema));
    else settings[name] = value;
  }
  mistakes.push(...listBadNetworks(settings.trustedProxies as readonly string[] | undefined));
  mistakes.push(...listContradictions(settings as Partial<Settings>));
  mistakes.push(...listLoginMistakes(settings as Partial<Settings>));
  if (mistakes.length > 0) throw new ConfigError(mistakes);
  for (const value of Object.values(settings)) Object.freeze(value);
  return Object.freeze(settings as Settings);
};

/** Shorter names are too near to what environments hold anyway. */
const guessedCharactersMin = 6;

/**
 * Names of the environment that are no settings and nearly one that is not set: a note for the operator and
 * no mistake, for other programs may mean them.
 */
export const findMisspeltSettings = (environment: Environment = process.env): readonly string[] => {
  const variables = settingRows.map(([name]) => toVariable(name));
  const unset = variables.filter((name) => !environment[name] && name.length >= guessedCharactersMin);
  const wordsOf = (name: string): readonly string[] => {
    const meant = findNearest(name, unset);
    return meant === null ? [] : [`${name} is not a setting. Did you mean ${meant}?`];
  };
  return Object.keys(environment)
    .filter((name) => !variables.includes(name))
    .flatMap(wordsOf);
};

/** The rules that the hot store applies while it decides, in its units. */
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
  visitorsMax: config.visitorsPerEntityMax,
});

/** Whether the demo directory belongs into an empty store: unless told, only where no real store is named. */
export const isDemoWanted = (config: Config): boolean =>
  config.demo === 'auto' ? config.redisUrl.length === 0 && config.databaseUrl === '' : config.demo === 'on';

const hoursToMs = (value: number): number => Math.round(value * 3_600_000);
const minutesToMs = (value: number): number => value * 60_000;

const parse = (given: string, schema: SettingSchema): unknown => {
  if (schema.type === 'array') return given.split(',').map((part) => part.trim());
  // Only plain decimals: `Number` would also take 0x10, 1e3 and blanks.
  if (schema.type === 'integer' || schema.type === 'number') {
    return /^-?\d{1,15}(\.\d{1,6})?$/.test(given) ? Number(given) : given;
  }
  return given;
};

const explainSetting = (variable: string, given: string, schema: SettingSchema): string => {
  const shown = given.length > 60 ? `${given.slice(0, 60)}…` : given;
  const example = `${variable}=${schema.example}`;
  const said = /_(TOKEN|SECRET)$/.test(variable) ? 'something else (not shown)' : `"${maskPassword(shown)}"`;
  return `${variable} is ${said} but must be ${describeAllowed(schema)}, for example ${example}`;
};

const describeAllowed = (schema: SettingSchema): string => {
  if (schema.anyOf) return `one of ${schema.anyOf.map((choice) => choice.const).join(', ')}`;
  if (schema.type === 'array') return `${schema.items?.expected} (at most ${schema.maxItems})`;
  if (schema.type === 'string') return schema.expected ?? 'some text';
  const kind = schema.type === 'integer' ? 'a whole number' : 'a number';
  return `${kind} from ${schema.minimum} to ${schema.maximum}`;
};

/** A mistyped address may still hold a password, and start messages end up in logs. */
const maskPassword = (given: string): string => given.replace(/:[^:@/]*@/g, ':***@');

/** What no pattern can say about addresses, in the words of who will read them. */
const listBadNetworks = (words: readonly string[] = []): string[] =>
  words.flatMap((word) => {
    try {
      parseTrustedProxies([word]);
      return [];
    } catch (error) {
      return [(error as Error).message];
    }
  });

/** Settings that are right alone and wrong together; those that are wrong already are left out. */
const listContradictions = (settings: Partial<Settings>): string[] => {
  const mistakes: string[] = [];
  const both = (one: SettingName, other: SettingName, words: string): void => {
    mistakes.push(`${toVariable(one)} and ${toVariable(other)}: ${words}`);
  };
  const { port, adminPort, demo } = settings;
  if (port !== undefined && port !== 0 && port === adminPort) {
    both('port', 'adminPort', `both are ${port}; the two listeners need a port each`);
  }
  if (isAbove(settings.uptimeCheckMinutes, settings.uptimeFreshMinutes)) {
    both('uptimeCheckMinutes', 'uptimeFreshMinutes', 'stats must stay fresh for at least one check');
  }
  if (isAbove(settings.statsPostsPerSecond, settings.statsPostsBurst)) {
    both('statsPostsPerSecond', 'statsPostsBurst', 'the burst must be at least one second’s worth of posts');
  }
  const oneServer = (settings.redisUrl?.length === 0) !== (settings.databaseUrl === '');
  if (settings.redisUrl !== undefined && settings.databaseUrl !== undefined && oneServer) {
    both('redisUrl', 'databaseUrl', 'set both to use Redis and Postgres, or none to use the embedded stores');
  }
  const real = [settings.redisUrl?.length ? 'redisUrl' : '', settings.databaseUrl ? 'databaseUrl' : ''];
  const named = real.find((name) => name !== '') as SettingName | undefined;
  if (demo === 'on' && named) both('demo', named, 'the demo directory is only for the embedded stores');
  mistakes.push(...listWorkerFaults(settings));
  return mistakes;
};

const portMax = 65_535;

/** What several processes on one port need. */
const listWorkerFaults = ({
  workers = 1,
  redisUrl,
  databaseUrl,
  port,
  adminPort,
}: Partial<Settings>): string[] => {
  if (workers === 1) return [];
  const mistakes: string[] = [];
  const given = `WORKERS is ${workers}`;
  if (redisUrl?.length === 0 && databaseUrl === '') {
    mistakes.push(`${given} but the embedded stores belong to one process: set REDIS_URL and DATABASE_URL`);
  }
  if (port === 0) mistakes.push(`${given} and PORT is 0: workers share one port, so name it`);
  if (port === undefined || adminPort === undefined) return mistakes;
  const last = adminPort + workers - 1;
  if (adminPort === 0 || last > portMax) {
    mistakes.push(`${given} and ADMIN_PORT is ${adminPort}: each worker takes one of the ports from it on`);
  } else if (port >= adminPort && port <= last && port !== adminPort) {
    mistakes.push(`${given} and PORT is ${port}: the workers take ADMIN_PORT ${adminPort} to ${last}`);
  }
  return mistakes;
};

const isAbove = (one: number | undefined, other: number | undefined): boolean =>
  one !== undefined && other !== undefined && one > other;
