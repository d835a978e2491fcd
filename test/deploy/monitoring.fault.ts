/**
 * The shipped alert rules and dashboard with a real Prometheus that scrapes a real node.
 *
 * promtool judges the format of `/metrics` and runs the tests of the alert rules; every query of the
 * dashboard must give a series. The programs come from Debian's package `prometheus`.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import * as assert from 'uvu/assert';
import { findFreePort } from '../../bench/shared/free-port.ts';
import { makeFolder } from '../support/folder.ts';
import { findFolder, findOrInstallProgram } from '../support/needed-program.ts';
import { createSuiteNeeding } from '../support/needing-suite.ts';
import { type ProxyProgram, startProxy } from '../support/proxy-program.ts';
import { until } from '../support/until.ts';
import { openWorld, type World } from '../world.ts';

const deploy = join(import.meta.dirname, '../../ops/deploy');
const folder = makeFolder('rollcall-prometheus-');
let world: World;
let prometheus: ProxyProgram;
let url = '';

const findPrometheusFolder = (): string =>
  findOrInstallProgram({
    name: 'prometheus',
    debianPackage: 'prometheus',
    find: () => findFolder('promtool'),
    advice: 'Install Prometheus (Debian: apt-get install prometheus).',
  });
const test = createSuiteNeeding('monitoring', findPrometheusFolder);

const promtool = (args: readonly string[], options: { input?: string; cwd?: string } = {}) => {
  const { status, stdout, stderr } = spawnSync(join(findPrometheusFolder(), 'promtool'), args, {
    encoding: 'utf8',
    timeout: 60_000,
    ...options,
  });
  return { status, output: stdout + stderr };
};

/** Every operation once, so that rates and percentiles have something to show. */
const makeTraffic = async (): Promise<void> => {
  const { bot, user } = world.demo;
  const headers = { 'Bot-Auth': bot.token, 'Content-Type': 'application/json' };
  await fetch(`${world.url}/bots/stats`, { method: 'POST', headers, body: '{"servers":1}' });
  await fetch(`${world.url}/bots/${bot.id}?target=page`);
  await fetch(`${world.url}/users/${user.id}/bots/${bot.id}/votes?upvote=true`, {
    method: 'PUT',
    headers: { 'User-Auth': user.token },
  });
};

interface Answer {
  readonly status: string;
  readonly data: { readonly result: readonly { readonly value: readonly [number, string] }[] };
}
const query = async (expression: string): Promise<Answer> =>
  (await (await fetch(`${url}/api/v1/query?${new URLSearchParams({ query: expression })}`)).json()) as Answer;

const scrapesMin = 5;

test.before(async () => {
  world = await openWorld();
  const port = await findFreePort();
  url = `http://127.0.0.1:${port}`;
  const target = new URL(world.adminUrl).host;
  const config = readFileSync(join(deploy, 'prometheus/prometheus.yml'), 'utf8')
    .replace('scrape_interval: 15s', 'scrape_interval: 1s')
    .replace('alerts.yml', join(deploy, 'prometheus/alerts.yml'))
    .replace('["10.0.0.7:9090", "10.0.0.8:9090"]', `["${target}"]`);
  writeFileSync(join(folder, 'prometheus.yml'), config);
  const words = [
    `--config.file=${join(folder, 'prometheus.yml')}`,
    `--storage.tsdb.path=${join(folder, 'data')}`,
    `--web.listen-address=127.0.0.1:${port}`,
  ];
  prometheus = await startProxy([join(findPrometheusFolder(), 'prometheus'), ...words], {}, port);
  for (let scrapes = 0; scrapes < scrapesMin; ) {
    await makeTraffic();
    await pause(1_000);
    const { data } = await query('sum(count_over_time(up{job="rollcall"}[1m]))').catch(
      (): Answer => ({ status: 'starting', data: { result: [] } }),
    );
    scrapes = Number(data?.result[0]?.value[1] ?? 0);
  }
});
test.after(async () => {
  await prometheus?.dispose();
  await world?.close();
});

test('promtool finds nothing wrong with /metrics', async () => {
  const text = await (await fetch(`${world.adminUrl}/metrics`)).text();
  const { status, output } = promtool(['check', 'metrics'], { input: text });

  assert.equal([status, output], [0, '']);
});

test('the rules and the sample configuration are valid; each alert fires on its trouble, and ends', () => {
  const cwd = join(deploy, 'prometheus');
  const cases = readFileSync(join(cwd, 'alerts.test.yml'), 'utf8');
  const rules = readFileSync(join(cwd, 'alerts.yml'), 'utf8');
  const names = [...rules.matchAll(/- alert: (\w+)/g)].map(([, name]) => name ?? '');
  assert.ok(names.length > 10);
  for (const name of names) assert.match(cases, `{alertname="${name}"}', value`);

  for (const args of [
    ['check', 'config', '--syntax-only', 'prometheus.yml'],
    ['check', 'rules', 'alerts.yml'],
    ['test', 'rules', 'alerts.test.yml'],
  ]) {
    const { status, output } = promtool(args, { cwd });
    assert.is(status, 0, `${args.join(' ')}: ${output}`);
  }
});

test('Prometheus evaluates the rules, and none fires for a node that works', async () => {
  const { data } = (await (await fetch(`${url}/api/v1/rules`)).json()) as {
    data: { groups: { rules: { name: string; health: string; state: string }[] }[] };
  };
  const rules = data.groups.flatMap((group) => group.rules);

  assert.ok(rules.length > 10);
  for (const { name, state } of rules) assert.is.not(state, 'firing', name);
});

interface Panel {
  readonly title: string;
  readonly targets?: readonly { readonly expr: string }[];
}

test('every query of the dashboard gives a series', async () => {
  const { panels } = JSON.parse(readFileSync(join(deploy, 'grafana/rollcall.json'), 'utf8')) as {
    panels: Panel[];
  };
  const queries = panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => ({ title, expr })));

  assert.ok(queries.length > 20);
  for (const { title, expr } of queries) {
    const expression = expr.replaceAll('$__rate_interval', '30s').replaceAll('$instance', '.*');
    // A rate needs two scrapes since the first observation.
    await until(`${title}: ${expr}`, async () => {
      const { status, data } = await query(expression);
      if (status === 'success' && data.result.length > 0) return true;
      await makeTraffic();
      return false;
    });
  }
});

test.run();
