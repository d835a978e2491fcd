/**
 * Settings that belong together: a mistake in one does not hide those in the others.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type ConfigError, type Environment, readConfig } from '../../ops/config/config.ts';

const test = suite('mistakes in settings');

const listMistakes = (environment: Environment): readonly string[] => {
  try {
    readConfig(environment);
    return [];
  } catch (error) {
    return (error as ConfigError).mistakes;
  }
};

test('a wrong setting hides no mistake of those that belong to it', () => {
  const [one, other] = ['a'.repeat(32), 'b'.repeat(32)];
  const servers = { REDIS_URL: 'redis://a', DATABASE_URL: 'postgres://a/b' };
  for (const [environment, expected] of [
    [{ PORT: 'eighty', WORKERS: '2' }, ['PORT is "eighty"', 'WORKERS is 2 but the counters']],
    [
      { ...servers, PORT: 'eighty', WORKERS: '2', ADMIN_PORT: '0' },
      ['PORT is', 'WORKERS is 2 and ADMIN_PORT'],
    ],
    [
      { ...servers, PORT: '0', WORKERS: '2', ADMIN_PORT: 'x' },
      ['ADMIN_PORT is', 'WORKERS is 2 and PORT is 0'],
    ],
    [
      { ADMIN_TOKEN: 'short', ADMIN_TOKENS: `x:${one},x:${other}` },
      ['ADMIN_TOKEN is', 'ADMIN_TOKENS: the name x'],
    ],
    [{ ADMIN_TOKEN: 'short', ADMIN_TOKENS: `admin:${one}` }, ['ADMIN_TOKEN is']],
    [
      { LOGIN_CLIENT_ID: 'a b', LOGIN_ISSUER: 'https://a' },
      ['LOGIN_CLIENT_ID is', 'LOGIN_CLIENT_SECRET: ', 'LOGIN_REDIRECT_URIS: '],
    ],
    [
      { LOGIN_TOKEN_URL: 'x' },
      [
        'LOGIN_TOKEN_URL is',
        'LOGIN_CLIENT_ID: ',
        'LOGIN_CLIENT_SECRET: ',
        'LOGIN_REDIRECT_URIS: ',
        'LOGIN_ISSUER: ',
      ],
    ],
  ] as const) {
    const mistakes = listMistakes(environment);
    assert.equal(
      mistakes.map((mistake, index) => mistake.slice(0, expected[index]?.length)),
      expected,
    );
  }
});

test('a template of avatars without the avatar is a mistake', () => {
  const [mistake = ''] = listMistakes({ LOGIN_AVATAR_URL: 'https://cdn.example.org/{id}.png' });

  assert.match(mistake, /with \{avatar\} in it, or nothing, for example LOGIN_AVATAR_URL=https/);
  for (const template of [
    '',
    'https://cdn.example.org/{avatar}.png',
    'https://cdn.example.org/{id}/{avatar}',
  ])
    assert.not.match(listMistakes({ LOGIN_AVATAR_URL: template }).join(), 'LOGIN_AVATAR_URL');
});

test('TLS to a store that is not what was requested is a mistake', () => {
  const database = 'postgres://a/b';
  for (const [environment, expected] of [
    [{ DATABASE_URL: `${database}?sslmode=on` }, /^DATABASE_URL: sslmode must be one of/],
    [{ DATABASE_URL: database, PGSSLROOTCERT: 'x' }, /^DATABASE_URL: sslrootcert \(or PGSSLROOTCERT\) needs/],
    [{ REDIS_URL: 'redis://a?family=6&tls=true', DATABASE_URL: database }, /^REDIS_URL: .* by rediss:/],
    [{ REDIS_URL: 'rediss://a,redis://b', DATABASE_URL: database }, /^REDIS_URL: the nodes of a Cluster/],
  ] as const) {
    const mistakes = listMistakes(environment);

    assert.is(mistakes.length, 1);
    assert.match(mistakes[0] ?? '', expected);
  }
  assert.equal(listMistakes({ REDIS_URL: 'rediss://x:p&ssl@a:6380', DATABASE_URL: database }), []);
});

test('PGSSLMODE and PGSSLROOTCERT complete the address, whose own parameters win', () => {
  const PGSSLMODE = 'verify-full';
  const PGSSLROOTCERT = '/ca.pem';
  const read = (DATABASE_URL: string) => readConfig({ DATABASE_URL, PGSSLMODE, PGSSLROOTCERT }).databaseUrl;

  assert.is(read('postgres://a/b'), 'postgres://a/b?sslmode=verify-full&sslrootcert=%2Fca.pem');
  assert.is(read('postgres://a/b?sslmode=require'), 'postgres://a/b?sslmode=require&sslrootcert=%2Fca.pem');
  assert.is(read(''), '');
});

test('a link of the footer is a title with an http or https address, or a path', () => {
  const links = ['Privacy=https://a.example/p?x=1', 'Impressum=/imprint'];
  assert.equal(readConfig({ SITE_LINKS: links.join(', ') }).siteLinks, links);
  for (const wrong of [
    'Privacy=javascript:alert(1)',
    'https://a.example',
    '=/imprint',
    'Terms=//',
    'Terms=a/b',
  ])
    assert.match(listMistakes({ SITE_LINKS: wrong }).join(), /SITE_LINKS.*title=address/, wrong);
});

test.run();
