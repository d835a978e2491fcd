/**
 * What we call as the world has it: hosts that are far away and have several addresses, hosts of IPv6 alone,
 * and name servers that change. Time limit: 120 s.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { suite } from 'uvu';
import { makeFolder } from '../../support/folder.ts';
import { canJoin, canUnroute, runUnrouted } from '../../support/island.ts';
import { faultCase, skip } from '../harness/fault-case.ts';

const test = suite('far receivers and name servers');
const lines = [
  '127.0.0.1 localhost',
  '10.78.1.2 far.example.org',
  '2001:db8::1 far.example.org # no route',
  '10.78.1.3 silent.example.org',
  '10.78.1.2 silent.example.org',
  '::1 six.example.org',
  '2001:db8:78::3 half.example.org # on the cable, but nobody has it',
  '127.0.0.1 half.example.org',
  '8.8.4.4 pinned.example.org alias.example.org',
  '2606:4700::4 pinned.example.org Alias.example.org',
];
const run = async (name: string, file: string, needsIsland: boolean) => {
  const hostsFile = join(makeFolder('rollcall-hosts-'), 'hosts');
  writeFileSync(hostsFile, `${lines.join('\n')}\n`);
  if (!canUnroute(hostsFile) || (needsIsland && !canJoin()))
    return skip(name, 'this system lets us make no network (unshare, nsenter, ip, mount)');
  return JSON.parse(await runUnrouted(fileURLToPath(new URL(file, import.meta.url)), hostsFile));
};

const far = 'hosts that are far away';
faultCase<{ readonly slowestMs: number; readonly besideSilentMs: number }>(test, {
  title: 'a host that accepts after a second is reached, whatever other addresses its name has',
  name: far,
  once: true,
  run: () => run(far, './far-receivers-main.ts', true),
});

const servers = 'name servers that change';
faultCase<{ readonly foundMs: number }>(test, {
  title: 'another name server is found with the next look-up; hosts file, search and ndots apply',
  name: servers,
  once: true,
  run: () => run(servers, './name-servers-main.ts', false),
});

const stores = 'addresses of stores';
faultCase<Readonly<Record<'sixStartMs' | 'sixBackMs' | 'halfStartMs' | 'halfBackMs', number>>>(test, {
  title: 'stores of IPv6 alone, and with a first address that is dead, are used and found again',
  name: stores,
  once: true,
  run: () => run(stores, './store-addresses-main.ts', true),
});

test.run();
