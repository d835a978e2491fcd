/**
 * What the address of Postgres says of TLS, by table. Real servers are in test/storage/tls.stores.test.ts.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { findTlsMistake, readTls } from '../../../storage/sql/tls.ts';
import { makeFolder } from '../../support/folder.ts';
import { issueCertificate } from '../../support/webhook-receivers.ts';

const test = suite('TLS in an address of Postgres');
const folder = makeFolder('rollcall-tls-');
const [authority, empty] = [join(folder, 'a b+c.pem'), join(folder, 'empty.pem')];
writeFileSync(authority, 'an authority');
writeFileSync(empty, '');
const { cert, key } = await issueCertificate({ name: 'a node' });
const write = (name: string, text: string): string => {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
};
const [certFile, keyFile] = [write('cert.pem', cert), write('key.pem', key)];
const anotherKeyFile = write('another.pem', (await issueCertificate({ name: 'another' })).key);
const place = 'postgres://rollcall:p%2Fw@a:1,b:2/x';
const given = `sslrootcert=${encodeURIComponent(authority)}`;

for (const [query, expected] of [
  ['', undefined],
  ['?options=-c%20jit=off', undefined],
  ['?sslmode=disable', false],
  ['?sslmode=allow', 'prefer'],
  ['?sslmode=prefer', 'prefer'],
  ['?sslmode=require', { rejectUnauthorized: false }],
  ['?sslmode=verify-ca', { rejectUnauthorized: true }],
  ['?sslmode=verify-full', { rejectUnauthorized: true }],
  ['?sslmode=disable&sslmode=verify-full', { rejectUnauthorized: true }],
  ['?sslmode=verify-full&sslrootcert=system', { rejectUnauthorized: true }],
  [`?sslmode=verify-full&${given}`, { ca: ['an authority'], rejectUnauthorized: true }],
  [`?sslmode=verify-full&sslrootcert=${empty}`, { ca: [''], rejectUnauthorized: true }],
  [
    `?sslmode=require&sslcert=${certFile}&sslkey=${keyFile}`,
    { cert: [cert], key: [key], rejectUnauthorized: false },
  ],
] as const) {
  test(`${query || 'nothing'} → ${JSON.stringify(expected)}`, () => {
    const { url, tls } = readTls(`${place}${query}`);

    // Without what is undefined.
    assert.equal(tls === undefined ? tls : JSON.parse(JSON.stringify(tls)), expected);
    assert.not.match(url, /ssl/);
    assert.ok(url.startsWith(place));
    assert.is(url.includes('jit'), query.includes('jit'));
  });
}

test('beside a file of authorities, all modes but verify-full take any name, none any authority', () => {
  for (const [mode, isAnyName] of [
    ['require', true],
    ['verify-ca', true],
    ['verify-full', false],
  ] as const) {
    const { tls } = readTls(`${place}?${given}&sslmode=${mode}`);

    assert.is(typeof tls === 'object' && tls.rejectUnauthorized, true);
    assert.is(typeof tls === 'object' && tls.checkServerIdentity !== undefined, isAnyName);
  }
});

test('files that cannot be used are refused by name', () => {
  for (const [certName, keyName] of [
    [empty, empty],
    [write('garbage.pem', 'a certificate'), keyFile],
    [keyFile, certFile],
    [certFile, anotherKeyFile],
  ]) {
    assert.throws(
      () => readTls(`${place}?sslmode=require&sslcert=${certName}&sslkey=${keyName}`),
      /^sslcert and sslkey, or sslrootcert, name files that cannot be used: /,
    );
  }
});

test('the files of an address are read once', () => {
  const address = `${place}?sslmode=verify-full&sslrootcert=${write('replaced.pem', 'before')}`;
  const before = readTls(address);
  write('replaced.pem', 'after');

  assert.equal(readTls(address), before);
});

test('verify-full takes no several IP addresses', () => {
  for (const [hosts, isRefused] of [
    ['10.0.0.1,10.0.0.2:6432', true],
    ['10.0.0.1,[::1]:5433', true],
    ['10.0.0.1:1,10.0.0.1:2', false],
    ['10.0.0.1,b', false],
    ['a,b', false],
  ] as const) {
    const address = `postgres://rollcall:p@${hosts}/x?sslmode=`;

    assert.is(/several IP addresses/.test(findTlsMistake(`${address}verify-full`) ?? ''), isRefused, hosts);
    assert.is(findTlsMistake(`${address}verify-ca`), null);
  }
});

test('what cannot be honoured is refused, with what to write', () => {
  for (const [query, expected] of [
    ['sslmode=verify', /^sslmode must be one of disable, .*, verify-full$/],
    ['sslmode=', /^sslmode must be/],
    ['ssl=true', /^ssl is not supported: remove it/],
    ['SSLMODE=verify-full', /^SSLMODE is not supported/],
    ['sslmode=verify-full&sslcrl=x', /^sslcrl is not supported/],
    ['sslmode=require&channel_binding=require', /^channel_binding is not supported/],
    ['gssencmode=require', /^gssencmode is not supported/],
    ['require_auth=scram-sha-256', /^require_auth is not supported/],
    [given, /^sslrootcert \(or PGSSLROOTCERT\) needs sslmode=verify-full/],
    [`sslmode=prefer&${given}`, /^sslrootcert \(or PGSSLROOTCERT\) needs sslmode=verify-full/],
    ['sslmode=disable&sslkey=x', /^sslkey \(or PGSSLKEY\) needs/],
    ['sslmode=require&sslrootcert=system', /^sslrootcert=system needs sslmode=verify-full/],
  ] as const) {
    assert.match(findTlsMistake(`${place}?${query}`) ?? '', expected);
    assert.throws(() => readTls(`${place}?${query}`), expected);
  }
});

test.run();
