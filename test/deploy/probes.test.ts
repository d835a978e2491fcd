/**
 * Who asks the private listener in the shipped files, and whether it answers the `Host` they send. HAProxy's
 * check is tried with the real program in haproxy.test.ts.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createHostScreen } from '../../http/auth/admin-hosts.ts';

const test = suite('probes');
const read = (path: string): string => readFileSync(join(import.meta.dirname, '../..', path), 'utf8');
const found = (text: string, pattern: RegExp): readonly string[] =>
  [...text.matchAll(pattern)].map(([, word = '']) => word);

test('HAProxy and the health check of the image send a Host that needs no setting', () => {
  const screen = createHostScreen([]);
  const checks = found(read('ops/deploy/haproxy/haproxy.cfg'), /^ *http-check send .* hdr Host (\S+)/gm);
  const health = found(read('ops/deploy/docker/Dockerfile'), /fetch\('http:\/\/([^/']+)\//g);

  assert.equal([checks.length, health.length], [1, 1]);
  for (const host of [...checks, ...health]) screen(host);
});

test('probes of Kubernetes name no host, so they send the address of the pod', () => {
  const text = read('ops/deploy/kubernetes/rollcall.yaml');
  const probes = found(text, /httpGet: (\{.*\})/g);

  assert.is(probes.length, 3);
  for (const probe of probes) assert.not.match(probe, /host/i);
});

test('the documented scrape works with the setting that stands beside it', () => {
  const text = read('docs/operating.md');
  const targets = found(text, /targets: \["([^"]+)"\]/g);
  const [names = ''] = found(text, /`ADMIN_HOSTS=(\S+)`/g);
  const screen = createHostScreen(names.split(','));

  assert.is(targets.length, 2);
  for (const target of targets) screen(target);
});

test.run();
