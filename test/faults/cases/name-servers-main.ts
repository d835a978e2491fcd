/**
 * The program that far-receivers.fault.ts runs where `hosts` and `resolv.conf` are the test's own: the name
 * server changes, is dead, and search domains apply. Prints its figures as JSON.
 */
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { createResolver } from '../../../http/outbound/guarded-address.ts';
import { makeFolder } from '../../support/folder.ts';
import { startNameServer } from '../../support/name-server.ts';

const timeLimitMs = 2_000;
const settings = join(makeFolder('rollcall-resolv-'), 'resolv.conf');
const set = (...lines: string[]): void => writeFileSync(settings, `# by the test\n${lines.join('\n')}\n`);
set('nameserver 127.0.0.1');
execFileSync('mount', ['--bind', settings, '/etc/resolv.conf']);

const resolve = createResolver('public', timeLimitMs);
const codeOf = (name: string): Promise<unknown> =>
  resolve(name).then(
    (addresses) => addresses,
    ({ code }) => code,
  );
const first = await startNameServer('127.0.0.1', {
  'hooks.example.org': ['8.8.8.8', '2606:4700::1'],
  'alone.example.org': ['2606:4700::6'],
});
assert.equal(await resolve('hooks.example.org'), ['8.8.8.8', '2606:4700::1']);
assert.equal(await resolve('alone.example.org'), ['2606:4700::6']);
assert.is(await codeOf('none.example.org'), 'ENOTFOUND');

// Another network: the old server is gone.
first.close();
assert.match(String(await codeOf('hooks.example.org')), /ECONNREFUSED|ETIMEOUT/);
const second = await startNameServer('127.0.0.3', {
  'hooks.example.org': ['9.9.9.9'],
  'hooks.corp.example': ['7.7.7.7'],
  'a.b.corp.example': ['6.6.6.6'],
});
set('nameserver 127.0.0.3');
const changedMs = performance.now();
assert.equal(await resolve('hooks.example.org'), ['9.9.9.9']);
const foundMs = Math.round(performance.now() - changedMs);

// A server that is dead before one that works.
set('nameserver 127.0.0.7', 'nameserver 127.0.0.3');
assert.equal(await resolve('hooks.example.org'), ['9.9.9.9']);

// The hosts file wins over name servers.
const before = second.names.length;
assert.equal(await resolve('pinned.example.org'), ['8.8.4.4', '2606:4700::4']);
assert.equal(await resolve('alias.example.org'), ['8.8.4.4', '2606:4700::4']);
assert.is(second.names.length, before);

set('nameserver 127.0.0.3', 'search other.example corp.example');
assert.equal(await resolve('hooks'), ['7.7.7.7']);
assert.equal(second.names.slice(before), ['hooks.other.example', 'hooks.corp.example']);
assert.is(await codeOf('hooks.'), 'ENOTFOUND');
assert.equal(await resolve('a.b'), ['6.6.6.6']);
assert.equal(await resolve('hooks.example.org'), ['9.9.9.9']);
assert.is(second.names.at(-1), 'hooks.example.org');
set('nameserver 127.0.0.3', 'search corp.example', 'options timeout:1 ndots:5');
assert.equal(await resolve('hooks.example.org'), ['9.9.9.9']);
assert.equal(second.names.slice(-2), ['hooks.example.org.corp.example', 'hooks.example.org']);

second.close();
console.log(JSON.stringify({ foundMs }));
