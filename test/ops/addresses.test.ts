/**
 * The URL of a listener, as seen from the same machine.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { formatAddress } from '../../ops/addresses.ts';

const test = suite('addresses of listeners');

for (const [listenHost, address] of [
  ['127.0.0.1', 'http://127.0.0.1:8080'],
  ['0.0.0.0', 'http://127.0.0.1:8080'],
  ['::', 'http://[::1]:8080'],
  ['::1', 'http://[::1]:8080'],
  ['10.0.0.7', 'http://10.0.0.7:8080'],
  ['localhost', 'http://localhost:8080'],
] as const) {
  test(`a listener on ${listenHost} is reachable at ${address}`, () => {
    assert.is(formatAddress(listenHost, 8_080), address);
  });
}

test.run();
