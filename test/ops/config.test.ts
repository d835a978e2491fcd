/**
 * The settings: all mistakes are reported at once in clear messages, contradictions are found, and
 * `config.example` equals the schema.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { defaultLimits } from '../../http/limits/limiter.ts';
import {
  ConfigError,
  type Environment,
  findCommandStart,
  findMisspeltSettings,
  isDemoWanted,
  readConfig,
  toCommitRules,
  toLimitSettings,
} from '../../ops/config/config.ts';
import { listOperators } from '../../ops/config/operators.ts';
import { settingRows, toVariable } from '../../ops/config/settings.ts';

const test = suite('config');

const listMistakes = (environment: Environment): readonly string[] => {
  try {
    readConfig(environment);
  } catch (error) {
    if (error instanceof ConfigError) return error.mistakes;
    throw error;
  }
  return [];
};

test('an empty environment gives the defaults, frozen', () => {
  const config = readConfig({});

  assert.is(config.port, 8080);
  assert.is(config.host, '127.0.0.1');
  assert.equal(config.redisUrl, []);
  assert.ok(Object.isFrozen(config));
  assert.ok(Object.isFrozen(config.trustedProxies));
});

test('values are parsed to their types, and an empty variable counts as not set', () => {
  const config = readConfig({
    PORT: '0',
    VOTE_WAIT_HOURS: '1.5',
    ADMIN_HOSTS: 'node1, node2.example.org',
    TRUSTED_PROXIES: '10.0.0.0/8, ::1',
    REDIS_URL: 'redis://a:1,redis://b:2',
    DATABASE_URL: 'postgres://a/b',
    ADMIN_PORT: ' ',
    LOG_LEVEL: 'warn',
  });

  assert.is(config.port, 0);
  assert.is(config.voteWaitHours, 1.5);
  assert.equal(config.adminHosts, ['node1', 'node2.example.org']);
  assert.equal(config.trustedProxies, ['10.0.0.0/8', '::1']);
  assert.equal(config.redisUrl, ['redis://a:1', 'redis://b:2']);
  assert.is(config.adminPort, 9090);
  assert.is(config.logLevel, 'warn');
});

test('a password in PGPASSWORD completes DATABASE_URL, in any characters, and never replaces its own', () => {
  const read = (DATABASE_URL: string): string =>
    readConfig({
      DATABASE_URL,
      REDIS_URL: DATABASE_URL === '' ? '' : 'redis://a',
      PGPASSWORD: 'a@b/c?%20#',
    }).databaseUrl;

  assert.is(decodeURIComponent(new URL(read('postgres://rollcall@db:5432/x')).password), 'a@b/c?%20#');
  assert.is(read('postgres://rollcall:own@db:5432/x'), 'postgres://rollcall:own@db:5432/x');
  assert.is(read('postgres://rollcall@a:1,b:2/x'), 'postgres://rollcall:a%40b%2Fc%3F%2520%23@a:1,b:2/x');
  assert.is(read(''), '');
});

test('all mistakes are reported at once, each with the value, what is allowed and an example', () => {
  const mistakes = listMistakes({
    PORT: 'eighty',
    LOG_LEVEL: 'loud',
    DATA_DIR: '~/data',
    DATABASE_URL: 'mysql://x',
    DRAIN_MS: '0',
    VOTE_LOG: 'private',
  });

  assert.equal(mistakes, [
    'PORT is "eighty" but must be a whole number from 0 to 65535, for example PORT=8080',
    'DRAIN_MS is "0" but must be a whole number from 100 to 60000, for example DRAIN_MS=5000',
    'LOG_LEVEL is "loud" but must be one of trace, debug, info, warn, error, silent, ' +
      'for example LOG_LEVEL=info',
    'DATA_DIR is "~/data" but must be a folder (no ~, which only a shell expands), ' +
      'for example DATA_DIR=./data',
    'DATABASE_URL is "mysql://x" but must be a postgres:// address (/ ? # % of a password encoded), ' +
      'or nothing, for example ' +
      'DATABASE_URL=postgres://rollcall@127.0.0.1:5432/rollcall',
    'VOTE_LOG is "private" but must be one of public, owner, for example VOTE_LOG=owner',
  ]);
});

test('an address that no client can read is a mistake, also one with a password that is not encoded', () => {
  const settings = ['PUBLIC_URL', 'SITE_LOGO_URL', 'LOGIN_ISSUER', 'PROOF_VERIFY_URL', 'REDIS_URL'] as const;
  const schemeOf = (name: string): string => (name === 'REDIS_URL' ? 'redis' : 'https');
  const unreadable = settings.filter((name) =>
    listMistakes({ [name]: `${schemeOf(name)}://db.example.org:99999` })[0]?.startsWith(`${name} is "`),
  );
  assert.equal(unreadable, settings);

  const listFor = (account: string): readonly string[] =>
    listMistakes({
      DATABASE_URL: `postgres://${account}@db:5432/x?sslmode=require&application_name=a@b`,
      REDIS_URL: `redis://${account}@db:6379/0`,
    });
  for (const password of ['12/3', 'p#s', 'p?s', 'p%s', '50%'])
    assert.is(listFor(`rollcall:${password}`).filter((line) => line.includes('encoded')).length, 2, password);
  for (const password of ['p@s', 'p%2Fs', 'p:s']) assert.equal(listFor(`rollcall:${password}`), [], password);
});

test('no message of a mistake has any part of a secret', () => {
  const secret = 'S3cr3t';
  const long = secret.repeat(20);
  const environment = {
    SECRETS_KEY: secret,
    ADMIN_TOKEN: secret,
    ADMIN_TOKENS: secret,
    LOGIN_CLIENT_SECRET: `${secret} ${secret}`,
  };
  const addresses = [
    `postgre://rollcall:${long}@db:5432/x`,
    `rollcall:${secret}@db`,
    `postgre://rollcall:${secret}/@:${secret}@db/x`,
    `postgre:/rollcall:${secret}`,
    `postgre://db/x?user=a&password=${secret}`,
    `redi://:${secret}@one,redi://:${secret}@two`,
    secret,
  ];
  const messages = addresses.flatMap((address) =>
    listMistakes({ ...environment, REDIS_URL: address, DATABASE_URL: address }),
  );
  const leaks = messages.filter((message) => message.includes('S3c'));

  assert.is(messages.length, addresses.length * 9);
  assert.equal(leaks, []);
  assert.match(messages.join('\n'), 'DATABASE_URL is "postgre://rollcall:***@db:5432/x" but must be');
});

test('a wrong setting ends the program with its message and nothing else', () => {
  const args = [...process.execArgv, fileURLToPath(new URL('../../ops/main.ts', import.meta.url))];
  const env = { ...process.env, PORT: 'eighty', ADMIN_PROT: '9091' };
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { env, encoding: 'utf8' });

  assert.equal([status, stdout], [1, '']);
  assert.match(stderr, /^ADMIN_PROT is not .*\nA setting is wrong:\n {2}PORT is .*\nAll settings .*\n$/);
});

test('arguments of a start are refused: it would ignore them', () => {
  const main = fileURLToPath(new URL('../../ops/main.ts', import.meta.url));
  const args = [...process.execArgv, main, '--port', '8081'];
  const { status, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8', timeout: 20_000 });

  assert.equal([status, stderr.split(':')[0]], [1, 'A start takes no arguments but --accept-clock']);
});

test('a name similar to a setting gets a hint, unless that setting is set or its name is short', () => {
  const environment = {
    ADMIN_PROT: '1',
    REDIS_URI: 'x',
    DATABSE_URL: '',
    HOME: '/',
    LOGNAME: 'x',
    PORTS: '1',
  };

  assert.equal(findMisspeltSettings(environment), [
    'ADMIN_PROT is not a setting. Did you mean ADMIN_PORT?',
    'REDIS_URI is not a setting. Did you mean REDIS_URL?',
    'DATABSE_URL is not a setting. Did you mean DATABASE_URL?',
  ]);
  assert.equal(findMisspeltSettings({ ADMIN_PROT: '1', ADMIN_PORT: '2' }), []);
});

for (const [variable, value] of [
  ['PORT', '65536'],
  ['PORT', '-1'],
  ['PORT', '80.5'],
  ['PORT', '0x50'],
  ['PORT', '1e3'],
  ['HOST', 'a b'],
  ['PUBLIC_URL', 'example.org'],
  ['PUBLIC_URL', 'https://example.org/'],
  ['ADMIN_HOSTS', 'node1:9090'],
  ['ADMIN_HOSTS', 'http://node1'],
  ['TRUSTED_PROXIES', '10.0.0.0/8,,'],
  ['TRUSTED_PROXIES', '10.0.0.300'],
  ['TRUSTED_PROXIES', '10.0.0.0/64'],
  ['REDIS_URL', 'http://127.0.0.1'],
  ['VOTE_WAIT_HOURS', '12.01'],
  ['VOTE_WAIT_HOURS', '0'],
  ['DEMO', 'yes'],
] as const) {
  test(`${variable}=${value} is refused`, () => {
    assert.is(listMistakes({ [variable]: value }).length, 1);
  });
}

test('a mistyped operator token is not repeated', () => {
  const [mistake] = listMistakes({ ADMIN_TOKEN: 'too-short-secret' });

  assert.match(mistake ?? '', /ADMIN_TOKEN is something else/);
  assert.not.match(mistake ?? '', /too-short-secret/);
});

test('ADMIN_TOKENS: a mistyped, repeated or taken entry is refused, and no token is repeated', () => {
  const [one, other] = ['a'.repeat(32), 'b'.repeat(32)];
  for (const [environment, expected] of [
    [{ ADMIN_TOKENS: 'robin:too-short' }, /ADMIN_TOKENS is something else/],
    [{ ADMIN_TOKENS: `robin:${one}:write` }, /ADMIN_TOKENS is something else/],
    [{ ADMIN_TOKENS: `robin:${one},robin:${other}` }, /the name robin is there twice/],
    [{ ADMIN_TOKENS: `admin:${one}` }, /the name admin belongs to ADMIN_TOKEN/],
    [{ ADMIN_TOKENS: `robin:${one},wren:${one}:read` }, /robin and wren have the same token/],
    [{ ADMIN_TOKENS: `robin:${one},admin:${other}`, ADMIN_TOKEN: one }, /admin belongs to ADMIN_TOKEN/],
  ] as const) {
    const mistakes = listMistakes(environment);
    assert.match(mistakes.join(), expected);
    assert.is(mistakes.length, 1);
    assert.not.match(mistakes.join(), /aaaa|bbbb|too-short/);
  }
  assert.equal(listMistakes({ ADMIN_TOKENS: `robin:${one},wren:${other}:read` }), []);
});

test('ADMIN_TOKEN may be one of ADMIN_TOKENS, whose name and right then count', () => {
  const [one, other] = ['a'.repeat(32), 'b'.repeat(32)];
  for (const entry of [`robin:${one}`, `robin:${one}:read`, `admin:${one}`]) {
    const { adminTokens, adminToken } = readConfig({ ADMIN_TOKENS: entry, ADMIN_TOKEN: one });
    const [name] = entry.split(':');

    assert.equal(listOperators({ adminTokens }, adminToken), [
      { name, token: one, readOnly: entry.endsWith(':read') },
    ]);
  }
  const { adminTokens, adminToken } = readConfig({ ADMIN_TOKENS: `robin:${other}`, ADMIN_TOKEN: one });
  assert.equal(
    listOperators({ adminTokens }, adminToken).map(({ name }) => name),
    ['admin', 'robin'],
  );
});

test('a password in a mistyped address is not repeated', () => {
  const [mistake] = listMistakes({ DATABASE_URL: 'mysql://me:secret@host/db' });

  assert.match(mistake ?? '', /me:\*\*\*@host/);
  assert.not.match(mistake ?? '', /secret/);
});

for (const environment of [
  { PORT: '9090' },
  { UPTIME_FRESH_MINUTES: '3' },
  { BOT_SHARD_STALE_MINUTES: '90', BOT_SHARD_GONE_HOURS: '1' },
  { STATS_POSTS_BURST: '10' },
  { REDIS_URL: 'redis://a' },
  { DEMO: 'on', REDIS_URL: 'redis://a', DATABASE_URL: 'postgres://a/b' },
]) {
  test(`${JSON.stringify(environment)} contradicts itself and is refused`, () => {
    const mistakes = listMistakes(environment);

    assert.is(mistakes.length, 1);
    assert.match(mistakes[0] ?? '', / and [A-Z_]+: /);
  });
}

const login = {
  LOGIN_ISSUER: 'https://id.example.org',
  LOGIN_CLIENT_ID: 'us',
  LOGIN_CLIENT_SECRET: 'secret',
  LOGIN_REDIRECT_URIS: 'https://example.org/login',
};
const addresses = {
  LOGIN_AUTHORIZE_URL: 'https://chat.example.org/authorize',
  LOGIN_TOKEN_URL: 'https://chat.example.org/token',
  LOGIN_PROFILE_URL: 'https://chat.example.org/users/@me',
};

test('a login needs either the issuer or all three addresses of its provider', () => {
  assert.equal(listMistakes(login), []);
  assert.equal(listMistakes({ ...login, LOGIN_ISSUER: '', ...addresses }), []);
  for (const name of [...Object.keys(login), ...Object.keys(addresses)]) {
    const complete = name in addresses ? { ...login, LOGIN_ISSUER: '', ...addresses } : login;
    const mistakes = listMistakes({ ...complete, [name]: '' });
    assert.is(mistakes.length, 1, name);
    assert.match(mistakes[0] ?? '', name in addresses ? /LOGIN_ISSUER/ : new RegExp(name));
  }
  assert.is(listMistakes({ ...login, ...addresses }).length, 1);
});

test('a proof of a human needs both keys of its provider', () => {
  const proof = { VOTE_PROOF: 'always', PROOF_SITE_KEY: 'site', PROOF_SECRET: 'secret' };
  assert.equal(listMistakes(proof), []);
  for (const name of ['PROOF_SITE_KEY', 'PROOF_SECRET']) {
    assert.match(listMistakes({ ...proof, [name]: '' }).join(), new RegExp(`^${name}: VOTE_PROOF is always`));
    assert.equal(listMistakes({ ...proof, VOTE_PROOF: 'off', [name]: '' }), []);
  }
});

test('a mistyped secret of the login provider is not repeated', () => {
  const mistakes = listMistakes({ ...login, LOGIN_CLIENT_SECRET: 'with a blank' });

  assert.is(mistakes.length, 1);
  assert.not.match(mistakes.join(), /with a blank/);
});

test('port 0 twice is no contradiction: each listener gets a free port', () => {
  assert.equal(listMistakes({ PORT: '0', ADMIN_PORT: '0' }), []);
});

test('by default only the embedded stores get the demo directory', () => {
  assert.ok(isDemoWanted(readConfig({})));
  assert.not.ok(isDemoWanted(readConfig({ DEMO: 'off' })));
  const servers = { REDIS_URL: 'redis://a', DATABASE_URL: 'postgres://a/b' };
  assert.not.ok(isDemoWanted(readConfig(servers)));
});

test('minutes between samples of the history divide an hour, and 0 is none', () => {
  for (const minutes of ['0', '1', '5', '15']) readConfig({ HISTORY_FINE_MINUTES: minutes });
  assert.throws(() => readConfig({ HISTORY_FINE_MINUTES: '7' }), /HISTORY_FINE_MINUTES must divide 60/);
});

test('the commit rules are in milliseconds', () => {
  const rules = toCommitRules(readConfig({ UPTIME_CHECK_MINUTES: '1' }), []);

  assert.equal(rules.windows.premium, { waitMs: 14_400_000, perUser: 1 });
  assert.equal(rules.windows.weekend, { waitMs: 21_600_000, perUser: 2 });
  assert.is(rules.uptime.checkMs, 60_000);
});

test('the burst of a rate limit equals its requests per minute; stats posts have their own', () => {
  const rates = toLimitSettings(
    readConfig({
      LOGINS_PER_MINUTE: '2',
      BOT_CREATIONS_PER_MINUTE: '3',
      BOT_META_PER_MINUTE: '4',
      AUTH_TESTS_PER_MINUTE: '7',
      STATS_POSTS_PER_SECOND: '8',
      STATS_POSTS_BURST: '9',
    }),
  );

  assert.equal(rates, {
    login: { requests: 2, seconds: 60, burst: 2 },
    bot_create: { requests: 3, seconds: 60, burst: 3 },
    bot_meta: { requests: 4, seconds: 60, burst: 4 },
    auth_test: { requests: 7, seconds: 60, burst: 7 },
    stats: { requests: 8, seconds: 1, burst: 9 },
    vote_log: defaultLimits.vote_log,
    webhook_edit: defaultLimits.webhook_edit,
    webhook_test: defaultLimits.webhook_test,
    webhook_view: defaultLimits.webhook_view,
    bot_shards: defaultLimits.bot_shards,
    badge: defaultLimits.badge,
    feed: defaultLimits.feed,
    history: defaultLimits.history,
    search: defaultLimits.search,
  });
  assert.equal(toLimitSettings(readConfig({})), defaultLimits);
});

test('every default is within its own bounds', () => {
  const defaults = settingRows.map(([name, schema]) => [toVariable(name), String(schema.default)]);

  assert.equal(listMistakes(Object.fromEntries(defaults)), []);
});

test('config.example names all settings with their defaults, each explained, none in effect', () => {
  const text = readFileSync(new URL('../../config.example', import.meta.url), 'utf8');
  const lines = text.split('\n').filter((line) => /^#[A-Z_]+=/.test(line));
  const expected = settingRows.map(([name, schema]) => `#${toVariable(name)}=${String(schema.default)}`);

  assert.equal([...lines].sort(), [...expected].sort());
  for (const paragraph of text.split('\n\n')) {
    if (/^#[A-Z_]+=/m.test(paragraph)) assert.match(paragraph, /^# /);
  }
  // A unit or a container reads the whole file: a line in effect would override what it sets itself.
  assert.not.match(text, /^[^#\n]/m);
});

test('commands begin as this installation was started', () => {
  assert.is(findCommandStart({ npm_lifecycle_event: 'start' }), 'npm run ops --');
  assert.match(findCommandStart({}), /^\/.*\/ops\/bin\/rollcall ops$/);
});

test.run();
