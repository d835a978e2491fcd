/**
 * What an operator reads when a server of the settings cannot be used at start: by table, from failures as
 * the clients report them. That real servers bring about these failures is in the tests of the adapters.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { StorageError } from '../../engine/errors.ts';
import { openFault, type ServerSetting } from '../../storage/sql/open-fault.ts';

const test = suite('faults of opening');

const failure = (message: string, code?: string): Error =>
  Object.assign(new Error(message), code === undefined ? {} : { code });

const wordings: readonly [ServerSetting, string, Error, RegExp][] = [
  [
    'REDIS_URL',
    'redis://h:6379',
    failure('connect', 'ECONNREFUSED'),
    /^REDIS_URL: Redis at h:6379: .*Start Redis/,
  ],
  ['REDIS_URL', 'redis://h', failure('getaddrinfo', 'ENOTFOUND'), /h: this name is not known/],
  ['REDIS_URL', 'redis://h:1', failure('Connection is closed.'), /nothing there answers as Redis does/],
  ['REDIS_URL', 'redis://h:1', failure('Failed to refresh slots cache.'), /name one server/],
  ['REDIS_URL', 'redis://h:1', failure('WRONGPASS invalid pair'), /password is refused.*WRONGPASS/],
  [
    'DATABASE_URL',
    'postgres://u@h:5/d',
    failure('connect', 'ECONNREFUSED'),
    /^DATABASE_URL: Postgres at h:5: /,
  ],
  ['DATABASE_URL', 'postgres://u@h:5/d', failure('write', 'CONNECT_TIMEOUT'), /as Postgres does/],
  ['DATABASE_URL', 'postgres://u@h:5/d', failure('no such role', '28000'), /password is refused/],
  ['DATABASE_URL', 'postgres://u@h:5/d', failure('"d" is not there', '3D000'), /does not exist. Create it/],
  ['DATABASE_URL', 'postgres://u@h:5/d', failure('sorry', '53300'), /no connection left. Close some/],
  ['DATABASE_URL', 'postgres://u@h:5/d', failure('expired', 'CERT_HAS_EXPIRED'), /Renew it there/],
  ['DATABASE_URL', 'postgres://u@h:5/d', failure('insecure', '28000'), /wants TLS.*operators\/tls\.md/],
  ['REDIS_URL', 'rediss://h', failure('x', 'SELF_SIGNED_CERT_IN_CHAIN'), /certificate is refused. See/],
  ['REDIS_URL', 'rediss://h', failure('x', 'ERR_SSL_WRONG_VERSION_NUMBER'), /only one .* uses TLS/],
  ['DATABASE_URL', 'postgres://u@h:5/d', failure('what is this', '0A000'), /cannot be used \(what is this\)/],
];
for (const [setting, address, error, words] of wordings) {
  test(`${setting}: ${error.message} → ${words}`, () => {
    const wrapped = new StorageError('open', { outcome: 'not_applied', reason: 'unreachable', cause: error });

    assert.match(openFault(setting, [address], wrapped).message, words);
  });
}

test('no password is shown, also not of an address that is none', () => {
  for (const address of ['redis://user:secret@h:1', 'user:secret@h', 'redis://u:x@secret@h:99999']) {
    assert.not.match(openFault('REDIS_URL', [address], failure('x')).message, /secret/);
  }
});

test.run();
