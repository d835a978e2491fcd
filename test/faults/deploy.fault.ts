/**
 * The deploy files, started: the image by podman with a read-only root, the systemd unit by systemd in a
 * container. Compose is parsed, and the manifests of Kubernetes are judged by the API's schemas: neither is
 * started, and the figures say so.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type Containers, openContainers, project } from './containers.ts';

const test = suite('deploy files');
const readDeployed = (path: string): string => readFileSync(join(project, 'ops/deploy', path), 'utf8');
const readySecondsMax = 120;
const stopSecondsMax = 20;

let containers: Containers | null = null;
let reason = '';
test.before(() => {
  try {
    containers = openContainers();
    const commit = spawnSync('git', ['-C', project, 'rev-parse', 'HEAD'], { encoding: 'utf8' }).stdout.trim();
    const dockerfile = readDeployed('docker/Dockerfile');
    containers.build('rollcall', dockerfile, project, '--build-arg', `COMMIT=${commit}`);
  } catch (error) {
    if (containers !== null) throw error;
    reason = (error as Error).message;
  }
});
test.after(() => containers?.dispose());

/** Runs the test where containers can be had; elsewhere it only says that they cannot. */
const inContainers = (title: string, start: (containers: Containers) => Promise<void>): void =>
  test(title, async () => {
    if (containers === null) console.log(`figures: ${title}: skipped, no podman (${reason})`);
    else await start(containers);
  });

/** Asks the node inside a container, by the Node that is there; `null` while it does not answer. */
const ask = (podman: Containers['podman'], name: string, program: string): string | null => {
  const node = join(program, 'node_modules/.bin/node');
  const script = `const { status } = await fetch('http://127.0.0.1:9090/readyz');
    const alive = await (await fetch('http://127.0.0.1:9090/livez')).json();
    const docs = await fetch('http://127.0.0.1:8080/docs/reference.js');
    console.log(status, docs.status, alive.version, alive.commit);`;
  try {
    return podman('exec', name, node, '--input-type=module', '--eval', script);
  } catch {
    return null;
  }
};

const waitForAnswer = async (
  podman: Containers['podman'],
  name: string,
  program: string,
): Promise<string> => {
  const limit = AbortSignal.timeout(readySecondsMax * 1_000);
  while (!limit.aborted) {
    const answer = ask(podman, name, program);
    if (answer !== null) return answer;
    await pause(200);
  }
  throw new Error(`The node in ${name} did not answer:\n${podman('logs', name)}`);
};

inContainers('the image starts a node with a read-only root, and drains it', async ({ podman, bases }) => {
  podman('run', '--detach', '--name=node', '--read-only', '--network=none', '--volume=/data', 'rollcall');
  const answer = await waitForAnswer(podman, 'node', '/rollcall');
  assert.match(answer, /^200 200 \d+\.\d+\.\d+ [0-9a-f]{12}$/);
  assert.match(podman('exec', 'node', 'rollcall', 'ops', 'jobs', 'list'), 'monthly_reset');
  assert.match(podman('exec', 'node', 'cat', '/proc/1/status'), /^Name:\s+node$/m);

  const stoppedMs = performance.now();
  podman('stop', `--time=${stopSecondsMax}`, 'node');
  const seconds = ((performance.now() - stoppedMs) / 1_000).toFixed(1);

  assert.is(podman('inspect', '--format={{.State.ExitCode}}', 'node'), '0', podman('logs', 'node'));
  const megabytes = Math.round(Number(podman('image', 'inspect', '--format={{.Size}}', 'rollcall')) / 1e6);
  console.log(`figures: image on ${bases}: ready, drained in ${seconds} s, ${megabytes} MB`);
});

inContainers('systemd starts the unit with its settings file, and stops it', async (containers) => {
  const { podman, build, bases } = containers;
  const dockerfile = [
    'FROM docker.io/library/debian:bookworm-slim',
    'RUN apt-get update && apt-get install -y --no-install-recommends systemd',
    'COPY --from=localhost/rollcall /rollcall /opt/rollcall',
    'COPY config.example /etc/rollcall.conf',
    'COPY ops/deploy/systemd/rollcall.service /etc/systemd/system/',
    'RUN systemctl enable rollcall',
  ];
  const context = mkdtempSync(join(tmpdir(), 'rollcall-unit-'));
  try {
    for (const path of ['config.example', 'ops/deploy/systemd/rollcall.service']) {
      const target = join(context, path.split('/').at(-1) ?? '');
      writeFileSync(target, readFileSync(join(project, path)));
    }
    build('unit', dockerfile.join('\n').replace('ops/deploy/systemd/', ''), context);
  } finally {
    rmSync(context, { recursive: true });
  }
  // The unit's own sandbox makes mounts.
  const rights = [
    '--cap-add=SYS_ADMIN',
    '--security-opt=seccomp=unconfined',
    '--security-opt=unmask=/proc/*',
  ];
  podman(
    'run',
    '--detach',
    '--name=unit',
    '--systemd=always',
    '--network=none',
    ...rights,
    'unit',
    '/sbin/init',
  );
  const answer = await waitForAnswer(podman, 'unit', '/opt/rollcall');
  assert.match(answer, /^200 200 /);
  const listed = podman('exec', 'unit', 'ls', '/var/lib/rollcall/');
  assert.match(listed, 'operator-token', 'the settings file leaves DATA_DIR to the unit');
  assert.not.match(listed, 'demo.json');

  podman('exec', 'unit', 'systemctl', 'stop', 'rollcall');

  const state = podman('exec', 'unit', 'systemctl', 'show', '--property=Result,ExecMainStatus', 'rollcall');
  assert.equal(state.split('\n').sort(), ['ExecMainStatus=0', 'Result=success']);
  console.log(`figures: systemd unit on ${bases}: ready, stopped with 0`);
});

/** Runs a script beside packages of npm that nothing else needs. */
const judgeWith = (packages: readonly string[], script: string, path: string): string => {
  const folder = mkdtempSync(join(tmpdir(), 'rollcall-judge-'));
  try {
    writeFileSync(join(folder, 'judge.mjs'), script);
    const install = ['install', '--prefix', folder, '--no-audit', '--no-fund', ...packages];
    assert.is(spawnSync('npm', install).status, 0, `npm ${install.join(' ')}`);
    const args = [join(folder, 'judge.mjs'), join(project, 'ops/deploy', path)];
    const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
    assert.is(status, 0, stderr);
    return stdout;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
};

test('every object for Kubernetes is valid by the schemas of its API', () => {
  const script = `import { readFileSync } from 'node:fs';
    import { createRequire } from 'node:module';
    import { parseAllDocuments } from 'yaml';
    const require = createRequire(import.meta.url);
    for (const document of parseAllDocuments(readFileSync(process.argv[2], 'utf8'))) {
      const object = document.toJS();
      const { [object.kind]: Model } = require('kubernetes-models/' + object.apiVersion);
      new Model(object).validate();
      console.log(object.kind);
    }`;
  const kinds = judgeWith(['kubernetes-models@5.1.0', 'yaml@2.9.1'], script, 'kubernetes/rollcall.yaml');

  assert.equal(kinds.trim().split('\n'), [
    'Service',
    'Service',
    'NetworkPolicy',
    'PodDisruptionBudget',
    'StatefulSet',
  ]);
  console.log('figures: Kubernetes: judged by schema, not started (no cluster)');
});

test('Compose gives all nodes one token, and the password outside of URLs', () => {
  const script = `import { readFileSync } from 'node:fs';
    import { parse } from 'yaml';
    const { services } = parse(readFileSync(process.argv[2], 'utf8'), { merge: true });
    console.log(JSON.stringify(services));`;
  const services = JSON.parse(judgeWith(['yaml@2.9.1'], script, 'docker/compose.yaml'));

  for (const name of ['node1', 'node2', 'node3']) {
    const { ADMIN_TOKEN, PGPASSWORD, DATABASE_URL, REDIS_URL } = services[name].environment;
    assert.match(ADMIN_TOKEN, /^\$\{ADMIN_TOKEN:\?/);
    assert.match(PGPASSWORD, /^\$\{POSTGRES_PASSWORD:\?/);
    assert.not.match(DATABASE_URL + REDIS_URL, '$');
    assert.is(services[name].ports, undefined);
  }
  console.log(
    'figures: Compose: parsed, not started (its images of Redis, Postgres, HAProxy need a registry)',
  );
});

test.run();
