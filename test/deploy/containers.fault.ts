/**
 * The image, started by podman with a read-only root, and the unit, started by systemd in a container.
 * Without podman these tests are skipped, and say so; schemas.fault.ts judges the other deploy files.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import * as assert from 'uvu/assert';
import { createSuiteNeeding } from '../support/needing-suite.ts';
import { type Containers, findPodman, limits, openContainers, project } from './containers.ts';

const test = createSuiteNeeding('containers', findPodman);
const readDeployed = (path: string): string => readFileSync(join(project, 'ops/deploy', path), 'utf8');
const readySecondsMax = 120;
const stopSecondsMax = 20;

let containers: Containers;
test.before(() => {
  containers = openContainers();
  const commit = spawnSync('git', ['-C', project, 'rev-parse', 'HEAD'], { encoding: 'utf8' }).stdout.trim();
  const dockerfile = readDeployed('docker/Dockerfile');
  containers.build({ tag: 'rollcall', dockerfile, context: project, args: [`COMMIT=${commit}`] });
});
test.after(() => containers?.dispose());

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

test('the image starts a node with a read-only root, and drains it', async () => {
  const { podman, bases } = containers;
  podman(
    'run',
    '--detach',
    '--name=node',
    '--read-only',
    '--network=none',
    '--volume=/data',
    ...limits,
    'rollcall',
  );
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

test('systemd starts the unit with its settings file, and stops it', async () => {
  const { podman, build, bases } = containers;
  const dockerfile = [
    'FROM docker.io/library/debian:bookworm-slim',
    'RUN apt-get update && apt-get install -y --no-install-recommends systemd',
    'COPY --from=localhost/rollcall /rollcall /opt/rollcall',
    'COPY config.example /etc/rollcall.conf',
    'COPY rollcall.service /etc/systemd/system/',
    'RUN systemctl enable rollcall',
  ];
  const context = mkdtempSync(join(tmpdir(), 'rollcall-unit-'));
  try {
    for (const path of ['config.example', 'ops/deploy/systemd/rollcall.service']) {
      const target = join(context, path.split('/').at(-1) ?? '');
      writeFileSync(target, readFileSync(join(project, path)));
    }
    build({ tag: 'unit', dockerfile: dockerfile.join('\n'), context });
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
    ...limits,
    ...rights,
    'unit',
    '/lib/systemd/systemd',
  );
  const answer = await waitForAnswer(podman, 'unit', '/opt/rollcall');
  assert.match(answer, /^200 200 /);
  // With `Type=notify` this waits for what the node says.
  podman('exec', 'unit', 'systemctl', 'start', 'rollcall');
  const listed = podman('exec', 'unit', 'ls', '/var/lib/rollcall/');
  assert.match(listed, 'operator-token', 'the settings file leaves DATA_DIR to the unit');
  assert.not.match(listed, 'demo.json');

  podman('exec', 'unit', 'systemctl', 'stop', 'rollcall');

  const state = podman('exec', 'unit', 'systemctl', 'show', '--property=Result,ExecMainStatus', 'rollcall');
  assert.equal(state.split('\n').sort(), ['ExecMainStatus=0', 'Result=success']);
  console.log(`figures: systemd unit on ${bases}: ready, stopped with 0`);
});

test.run();
