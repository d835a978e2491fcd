/**
 * Origins of votes: hashes that say nothing about the address, behind a mark that readers of the time alone
 * do not see.
 */
import * as fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createVisitorHasher } from '../../../engine/actors/visitors.ts';
import { createOriginEncoder, parseOrigin } from '../../../engine/rules/vote-origin.ts';

const test = suite('origins of votes');
const secret = new Uint8Array(32).fill(7);
const encode = createOriginEncoder(secret);
const november = Date.UTC(2026, 10, 30, 23, 59, 59, 999);
const client = { address: '203.0.113.9', agent: 'Mozilla/5.0' };
const originOf = (more: Partial<typeof client>, atMs = november) =>
  parseOrigin(encode({ ...client, ...more }, atMs));

/** A signed number of so many bits in decimal. */
const isNumber = (text: string, bits: number) =>
  /^-?\d+$/.test(text) && BigInt.asIntN(bits, BigInt(text)) === BigInt(text);

test('hashes of any address come back as numbers, and a reader of the time alone gets it', () => {
  const time = fc.integer({ min: Date.UTC(2015, 0), max: Date.UTC(2200, 0) });
  const address = fc.ipV4().map((text) => ({ address: text, agent: text.repeat(9) }));
  fc.assert(
    fc.property(address, time, fc.option(time), (sender, atMs, seenMs) => {
      const origin = encode({ ...sender, firstSeenMs: seenMs }, atMs);
      const { addressHash, networkHash, agentHash, accountAge } = parseOrigin(origin);
      assert.ok(isNumber(addressHash, 64) && isNumber(networkHash, 64) && isNumber(agentHash, 32), origin);
      const seconds = Math.max(0, Math.min(2 ** 31 - 1, Math.floor((atMs - (seenMs ?? 0)) / 1_000)));
      assert.is(accountAge, seenMs === null ? 'NULL' : String(seconds));
      assert.match(origin, /^\d{51,61}$/);
      assert.is(Number(`${atMs}.0000${origin}`), atMs);
    }),
  );
});

test('neighbours share the hash of their network, and nothing else', () => {
  const [one, next, far] = ['203.0.113.9', '203.0.113.10', '203.0.114.9'].map((address) =>
    originOf({ address }),
  );
  assert.is(one?.networkHash, next?.networkHash);
  assert.is.not(one?.addressHash, next?.addressHash);
  assert.is.not(one?.networkHash, far?.networkHash);
  const six = ['2001:db8:1:2::/64', '2001:db8:1:3::/64', '2001:db8:2:2::/64', '2001:db8:1::/64'];
  const networks = six.map((address) => originOf({ address }).networkHash);
  assert.equal([networks[1], networks[3]], [networks[0], networks[0]]);
  assert.is.not(networks[2], networks[0]);
  assert.is(
    originOf({ address: '2001:db8::/64' }).networkHash,
    originOf({ address: '2001:db8:0:1::/64' }).networkHash,
  );
});

test('in the next month all hashes of an address are different', () => {
  const [before, after] = [originOf({}), originOf({}, november + 1)];
  assert.is.not(before.addressHash, after.addressHash);
  assert.is.not(before.networkHash, after.networkHash);
  assert.is.not(before.agentHash, after.agentHash);
  assert.equal(originOf({}), before);
});

test('hashes of votes are not those of visitors', () => {
  assert.is.not(originOf({}).addressHash, createVisitorHasher(secret)(client.address));
});

test.run();
