/**
 * The client address that limits and unique clicks count.
 *
 * By table: peers, proxies, spoofed and malformed headers. Then which peers are read, and a real server.
 */
import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  createAddressReader,
  parseTrustedProxies,
  toClientAddress,
} from '../../../http/server/client-address.ts';
import { RequestHeaders } from '../../../http/server/wire.ts';
import { openWorld } from '../world.ts';

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

/** A request of this peer, and how often the peer was read. */
const from = (peer: string, forwardedFor: string) => {
  const headers = new RequestHeaders();
  headers.forwardedFor = forwardedFor;
  const readPeerAddress = (): string => {
    exchange.reads += 1;
    return peer;
  };
  const exchange = { headers, readPeerAddress, reads: 0 };
  return exchange;
};

test('a cached address is never used for another peer or another header', () => {
  const reader = createAddressReader(trusted);
  for (let round = 0; round < 2; round++) {
    for (const [name, peer, header, expected] of cases)
      assert.is(reader.read(from(peer, header)), expected, name);
  }
});

test('without proxies an IPv6 address is counted by its network too', () => {
  const reader = createAddressReader([]);

  assert.is(reader.read(from('2001:db8::1', '6.6.6.6')), '2001:db8::/64');
  assert.is(reader.read(from('2001:db8::2', '')), '2001:db8::/64');
  assert.is(reader.read(from('::ffff:203.0.113.9', '')), '203.0.113.9');
  assert.is(reader.read(from('203.0.113.9', '6.6.6.6')), '203.0.113.9');
});

test('while all come from proxies, the peer is read only where the header does not decide', () => {
  const reader = createAddressReader(trusted);
  for (const peer of ['10.1.1.1', '::ffff:10.2.2.2', 'fd00::1']) reader.recordConnection(peer);

  const decided = from('10.1.1.1', '203.0.113.9');
  assert.is(reader.read(decided), '203.0.113.9');
  assert.is(decided.reads, 0);
  for (const [name, peer, header, expected] of cases)
    if (peer === '10.1.1.1') assert.is(reader.read(from(peer, header)), expected, name);
});

test('after a connection from elsewhere every peer is read again', () => {
  for (const stranger of ['203.0.113.7', '', '::ffff:203.0.113.7', '2001:db8::1']) {
    const reader = createAddressReader(trusted);
    reader.recordConnection('10.1.1.1');
    reader.recordConnection(stranger);
    reader.recordConnection('10.1.1.1');

    assert.is.not(reader.read(from(stranger, '6.6.6.6')), '6.6.6.6', stranger);
    assert.is(reader.read(from('10.1.1.1', '203.0.113.9')), '203.0.113.9');
  }
});

test('a server that reports no connections reads every peer', () => {
  const reader = createAddressReader(trusted);

  assert.is(reader.read(from('203.0.113.7', '6.6.6.6')), '203.0.113.7');
});

/** Sends requests over one connection from this address; resolves to their statuses. */
const sendFrom = async (port: number, localAddress: string, hops: readonly string[]) => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const statuses: (number | undefined)[] = [];
  for (const hop of hops) {
    const headers = { 'X-Forwarded-For': hop };
    const sent = request({
      agent,
      host: '127.0.0.1',
      port,
      localAddress,
      headers,
      method: 'POST',
      path: '/limited',
    });
    const [answer] = (await once(sent.end(), 'response')) as [IncomingMessage];
    answer.resume();
    await once(answer, 'end');
    statuses.push(answer.statusCode);
  }
  agent.destroy();
  return statuses;
};

test('a proxy is believed, and a client beside it is not, whichever connects first', async () => {
  const hops = Array.from({ length: 6 }, (_, index) => `6.6.6.${index}`);
  const answered = hops.map(() => 204);
  const world = await openWorld({ trustedProxies: ['127.0.0.1'] });

  const alone = await sendFrom(world.port, '127.0.0.1', hops);
  const forged = await sendFrom(world.port, '127.0.0.2', hops);
  const again = await sendFrom(world.port, '127.0.0.1', hops);
  await world.close();

  assert.equal([alone, again], [answered, answered]);
  assert.equal(forged, [204, 204, 204, 204, 204, 429]);
});

test('without trusted proxies the header is ignored', () => {
  assert.is(toClientAddress('127.0.0.1', '6.6.6.6', []), '127.0.0.1');
});

test('an invalid setting is rejected with a message', () => {
  assert.throws(() => parseTrustedProxies(['10.0.0.0/99']), /TRUSTED_PROXIES.*10\.0\.0\.0\/99/);
});

test.run();
