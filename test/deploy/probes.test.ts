/**
 * The health checks in the shipped files: the private listener must accept the `Host` they send, and a start
 * may last.
 * haproxy.fault.ts tests the check of HAProxy with the real program.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createHostScreen } from '../../http/operator/listener.ts';

const test = suite('probes');
const read = (path: string): string => readFileSync(join(import.meta.dirname, '../..', path), 'utf8');
const findAll = (text: string, pattern: RegExp): readonly string[] =>
  [...text.matchAll(pattern)].map(([, group = '']) => group);

test('HAProxy and the health check of the image send a Host that needs no setting', () => {
  const screen = createHostScreen([]);
  const checks = findAll(read('ops/deploy/haproxy/haproxy.cfg'), /^ *http-check send .* hdr Host (\S+)/gm);
  const health = findAll(read('ops/deploy/docker/Dockerfile'), /fetch\('http:\/\/([^/']+)\//g);

  assert.equal([checks.length, health.length], [1, 1]);
  for (const host of [...checks, ...health]) screen(host);
});

test('probes of Kubernetes set no host, so they send the address of the pod', () => {
  const text = read('ops/deploy/kubernetes/rollcall.yaml');
  const probes = findAll(text, /httpGet: (\{.*\})/g);

  assert.is(probes.length, 3);
  for (const probe of probes) assert.not.match(probe, /host/i);
});

test('systemd and Kubernetes let a node wait for its database, and migrate it, for long', () => {
  const unit = read('ops/deploy/systemd/rollcall.service');
  for (const line of ['StartLimitIntervalSec=0', 'TimeoutStartSec=infinity'])
    assert.match(unit, new RegExp(`^${line}$`, 'm'));
  const [startup = ''] = read('ops/deploy/kubernetes/rollcall.yaml').split('readinessProbe:');
  assert.ok(Number(/failureThreshold: (\d+)/.exec(startup)?.[1]) >= 3_600);
});

test('the documented scrape works with the documented setting', () => {
  const text = read('docs/operators/watching.md');
  const targets = findAll(text, /targets: \["([^"]+)"\]/g);
  const [names = ''] = findAll(text, /`ADMIN_HOSTS=(\S+)`/g);
  const screen = createHostScreen(names.split(','));

  assert.is(targets.length, 2);
  for (const target of targets) screen(target);
});

test.run();
