/**
 * Which addresses clients can make us connect to.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { findAddressFault, isPublic, toHost, vetHost } from '../../../http/outbound/guarded-address.ts';

const test = suite('guarded addresses');

test('only addresses of the public internet are public', () => {
  for (const address of [
    '8.8.8.8',
    '93.184.215.14',
    '2606:4700:4700::1111',
    '::ffff:8.8.8.8',
    '64:ff9b::8.8.8.8',
  ]) {
    assert.ok(isPublic(address), address);
  }
  for (const address of [
    ...['127.0.0.1', '127.9.9.9', '0.0.0.0', '0.1.2.3', '10.0.0.1', '172.16.0.1', '172.31.255.255'],
    ...['192.168.1.1', '169.254.169.254', '100.64.0.1', '192.0.0.1', '192.0.2.1', '192.88.99.1'],
    ...['198.18.0.1', '198.51.100.1', '203.0.113.1', '224.0.0.1', '240.0.0.1', '255.255.255.255'],
    ...['::', '::1', '::7f00:1', '::ffff:127.0.0.1', '::ffff:10.0.0.1', '64:ff9b::7f00:1', '64:ff9b:1::1'],
    ...['2002:7f00:1::', '2001::1', '2001:db8::1', '2001:2::1', '2001:10::1', '3fff::1', '5f00::1'],
    ...['100::1', 'fc00::1', 'fd12::1', 'fe80::1', 'fec0::1', 'ff02::1', '4000::1', 'fe80::1%eth0'],
    ...['', 'localhost', '8.8.8.8.8', '8.8.8.8/32'],
  ]) {
    assert.not.ok(isPublic(address), address);
  }
});

test('a valid URL is https without a user, at port 443, and not a private address in any notation', () => {
  for (const fine of [
    'https://push.example.org/a?b=c',
    'https://push.example.org:443/',
    'https://8.8.8.8/',
  ]) {
    assert.is(findAddressFault(fine, 'public'), null, fine);
  }
  for (const [bad, words] of [
    ['', /https/],
    ['push.example.org', /https/],
    ['http://push.example.org', /https/],
    ['javascript:alert(1)', /https/],
    ['https://user@push.example.org/', /user/],
    ['https://:secret@push.example.org/', /user/],
    ['https://push.example.org:80/', /port/],
    ['https://push.example.org:8443/', /port/],
    ['https://127.0.0.1/', /public/],
    ['https://0x7f.1/', /public/],
    ['https://2130706433/', /public/],
    ['https://017700000001/', /public/],
    ['https://127.1/', /public/],
    ['https://[::1]/', /public/],
    ['https://[::ffff:169.254.169.254]/', /public/],
    ['https://[64:ff9b::10.0.0.1]/', /public/],
    ['https://１２７.０.０.１/', /public/],
  ] as const) {
    assert.match(findAddressFault(bad, 'public') ?? '', words, bad);
  }
});

test('http and other ports pass where the operator and the caller allow them, to public addresses', () => {
  for (const url of ['http://example.org/', 'http://example.org:8080/', 'https://example.org:8443/'])
    assert.is(findAddressFault(url, 'public-http', true), null, url);
  assert.match(findAddressFault('http://10.0.0.1/', 'public-http', true) ?? '', /public address/);
  assert.match(findAddressFault('http://example.org/', 'public-http') ?? '', /an https/);
  assert.match(findAddressFault('http://example.org/', 'public', true) ?? '', /an https/);
  assert.match(findAddressFault('ftp://example.org/', 'any', true) ?? '', /http or https/);
  assert.is(findAddressFault('http://127.0.0.1:3000/hook', 'any', true), null);
});

test('with reach any, other ports and private addresses pass, and malformed URLs still do not', () => {
  assert.is(findAddressFault('https://127.0.0.1:8443/', 'any'), null);
  assert.match(findAddressFault('http://127.0.0.1/', 'any') ?? '', /https/);
  assert.match(findAddressFault('https://me@127.0.0.1/', 'any') ?? '', /user/);
});

const vet = (text: string, addresses: readonly string[]) =>
  vetHost(new URL(text), 'public', async () => addresses);

test('one address that is not public rejects the whole name', async () => {
  const name = 'https://push.example.org/';
  assert.equal(await vet(name, ['8.8.8.8', '2606:4700::1']), {
    kind: 'vetted',
    addresses: ['8.8.8.8', '2606:4700::1'],
  });
  assert.is((await vet(name, ['8.8.8.8', '10.0.0.1'])).kind, 'refused');
  assert.is((await vet(name, ['::ffff:127.0.0.1'])).kind, 'refused');
  assert.is((await vet(name, [])).kind, 'unresolved');
});

test('an IP address needs no DNS query, and a name that cannot be resolved is `unresolved`', async () => {
  const failToResolve = async (): Promise<never> => {
    throw Object.assign(new Error('asked'), { code: 'ENOTFOUND' });
  };
  assert.equal(await vetHost(new URL('https://[2606:4700::1]/'), 'public', failToResolve), {
    kind: 'vetted',
    addresses: ['2606:4700::1'],
  });
  const unresolved = await vetHost(new URL('https://push.example.org/'), 'public', failToResolve);
  assert.is(unresolved.kind, 'unresolved');
  assert.match('reason' in unresolved ? unresolved.reason : '', /ENOTFOUND/);
  assert.is(toHost(new URL('https://[2606:4700::1]:443/')), '2606:4700::1');
});

test.run();
