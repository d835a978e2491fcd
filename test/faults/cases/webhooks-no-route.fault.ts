/**
 * Webhooks and push messages to a name that has only an IPv6 address, on a machine without an IPv6 route:
 * each connection fails at once. Time limit: 300 s.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { suite } from 'uvu';
import { makeFolder } from '../../support/folder.ts';
import { canUnroute, runUnrouted } from '../../support/island.ts';
import { faultCase, skip } from '../harness/fault-case.ts';

const test = suite('webhooks and push messages without a route');
const program = fileURLToPath(new URL('./webhooks-no-route-main.ts', import.meta.url));
const name = 'connections that fail at once';

faultCase<{ readonly nodes: number }>(test, {
  title: 'a connection that fails at once ends none of three nodes, and is tried again by the schedule',
  name,
  once: true,
  run: async () => {
    const hostsFile = join(makeFolder('rollcall-hosts-'), 'hosts');
    writeFileSync(hostsFile, '127.0.0.1 localhost\n2001:db8::1 only-six.example.org\n');
    if (!canUnroute(hostsFile)) return skip(name, 'this system lets us make no network (unshare, ip, mount)');
    return JSON.parse(await runUnrouted(program, hostsFile));
  },
});

test.run();
