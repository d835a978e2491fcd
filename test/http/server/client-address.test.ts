/**
 * The client address that limits and unique clicks count.
 *
 * Pure functions by table: peers, proxies, spoofed and malformed headers.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  createAddressReader,
  parseTrustedProxies,
  toClientAddress,
} from '../../../http/server/client-address.ts';

const test = suite('client address');
const trusted = parseTrustedProxies(['10.0.0.0/8', '::1', 'fd00::/8', '192.0.2.7']);

const cases: readonly [string, string, string, string][] = [
  ['a peer that is no proxy is believed nothing', '203.0.113.9', '6.6.6.6', '203.0.113.9'],
  ['a proxy without the header', '10.1.1.1', '', '10.1.1.1'],
  ['one hop', '10.1.1.1', '203.0.113.9', '203.0.113.9'],
  ['the right-most untrusted hop', '10.1.1.1', '6.6.6.6, 203.0.113.9', '203.0.113.9'],
  ['trusted hops are passed over', '10.1.1.1', '203.0.113.9, 10.2.2.2, 10.3.3.3', '203.0.113.9'],
  ['only trusted hops', '10.1.1.1', '10.2.2.2', '10.2.2.2'],
  ['garbage ends the walk', '10.1.1.1', '203.0.113.9, garbage', '10.1.1.1'],
  ['garbage behind a proxy', '10.1.1.1', 'garbage, 10.2.2.2', '10.2.2.2'],
  ['a port is taken off', '10.1.1.1', '203.0.113.9:4711', '203.0.113.9'],
  ['brackets are taken off', '::1', '[2001:DB8::0:1]:4711', '2001:db8::/64'],
  ['v4 inside v6 is v4', '::ffff:10.1.1.1', '::ffff:203.0.113.9', '203.0.113.9'],
  ['the same peer in v6 clothes', '::ffff:203.0.113.9', '', '203.0.113.9'],
  ['of v6 it is the network of 64 bits', '2001:0db8:0000:0001:aaaa:0000:0000:0001', '', '2001:db8:0:1::/64'],
  ['the same network, another end', '2001:db8:0:1:ffff:1:2:3', '', '2001:db8:0:1::/64'],
  ['the network beside it', '2001:db8:0:2:ffff:1:2:3', '', '2001:db8:0:2::/64'],
  ['of a v6 hop it is the network too', '10.1.1.1', '2001:db8:0:1:a:b:c:d', '2001:db8:0:1::/64'],
  ['a zone is no part of it', 'fe80::1%eth0', '', 'fe80::/64'],
  ['a proxy is known by its whole address', 'fd00::1', '2001:db8::9, fd00::2', '2001:db8::/64'],
  ['octal and short forms are garbage', '10.1.1.1', '0177.1', '10.1.1.1'],
  ['a number above 255 is garbage', '10.1.1.1', '203.0.113.256', '10.1.1.1'],
  ['a leading zero is garbage', '10.1.1.1', '203.0.113.09', '10.1.1.1'],
  ['three numbers are garbage', '10.1.1.1', '203.0.113', '10.1.1.1'],
  ['five numbers are garbage', '10.1.1.1', '203.0.113.9.9', '10.1.1.1'],
  ['an empty number is garbage', '10.1.1.1', '203.0..9', '10.1.1.1'],
  ['a point behind is garbage', '10.1.1.1', '203.0.113.', '10.1.1.1'],
  ['the lowest and the highest numbers', '10.1.1.1', '0.255.0.255', '0.255.0.255'],
  ['a wrong digit', '10.1.1.1', '203.0.113.٩', '10.1.1.1'],
  ['one trusted address', '192.0.2.7', '198.51.100.1', '198.51.100.1'],
];
for (const [name, peer, header, expected] of cases) {
  test(name, () => {
    assert.is(toClientAddress(peer, header, trusted), expected);
  });
}

test('a cached address is never used for another peer or another header', () => {
  const addressOf = createAddressReader(trusted);
  for (let round = 0; round < 2; round++) {
    for (const [name, peer, header, expected] of cases) assert.is(addressOf(peer, header), expected, name);
  }
});

test('without proxies an IPv6 address is counted by its network too', () => {
  const addressOf = createAddressReader([]);

  assert.is(addressOf('2001:db8::1', '6.6.6.6'), '2001:db8::/64');
  assert.is(addressOf('2001:db8::2', ''), '2001:db8::/64');
  assert.is(addressOf('::ffff:203.0.113.9', ''), '203.0.113.9');
  assert.is(addressOf('203.0.113.9', '6.6.6.6'), '203.0.113.9');
});

test('without trusted proxies the header is ignored', () => {
  assert.is(toClientAddress('127.0.0.1', '6.6.6.6', []), '127.0.0.1');
});

test('an invalid setting is rejected with a message', () => {
  assert.throws(() => parseTrustedProxies(['10.0.0.0/99']), /TRUSTED_PROXIES.*10\.0\.0\.0\/99/);
});

test.run();
