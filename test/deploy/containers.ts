/**
 * Containers for the tests of the deploy files: podman with a storage folder of its own, so that it neither
 * uses nor leaves images of the machine.
 *
 * Where the registry of images is out of reach, Debian's own packages and Node from npm stand in for the base
 * images.
 */
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findFolder, findOrInstallProgram } from '../support/needed-program.ts';

export const project = join(import.meta.dirname, '../..');
const debian = 'docker.io/library/debian:bookworm-slim';
const nodeImage = 'docker.io/library/node:22-bookworm-slim';
const pullSecondsMax = 30;
const certificates = process.env.NODE_EXTRA_CA_CERTS;

export interface Image {
  readonly tag: string;
  /** The text of the Dockerfile. */
  readonly dockerfile: string;
  /** The folder that paths in it are relative to. */
  readonly context: string;
  /** Arguments of the build, as `NAME=value`. */
  readonly args?: readonly string[];
}
/** Limits that the machine grants in any case: the defaults of podman may be above its own. */
export const limits = ['--ulimit=nofile=4096:4096', '--ulimit=nproc=4096:4096'];

export interface Containers {
  /** Where the base images come from: `the registry`, or what stands in. */
  readonly bases: string;
  /** Runs podman; returns its output. Throws its words when it fails. */
  podman(...args: readonly string[]): string;
  /** Builds an image. */
  build(image: Image): void;
  dispose(): void;
}

const needProgram = (name: string): void =>
  void findOrInstallProgram({
    name,
    debianPackage: name,
    find: () => findFolder(name, ['/usr/sbin']),
    advice: `Install it, as root: apt-get install ${name}.`,
  });

const run = (command: string, args: readonly string[], seconds = 900): string => {
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    encoding: 'utf8',
    maxBuffer: 2 ** 26,
    timeout: seconds * 1_000,
  });
  if (status === 0) return stdout.trim();
  throw new Error(`${command} ${args.join(' ').slice(0, 200)}: ${error?.message ?? stderr.slice(-2_000)}`);
};

/** Throws when this machine has no podman and cannot install it. */
export const findPodman = (): void => {
  needProgram('podman');
  // Unlike crun it also runs on machines with both versions of cgroups.
  needProgram('runc');
};

export const openContainers = (): Containers => {
  // Podman takes at most 50 characters for the folder of what runs.
  const folder = mkdtempSync(join(tmpdir(), 'podman-'));
  const places = ['--root', join(folder, 'root'), '--runroot', join(folder, 'run')];
  const podman = (...args: readonly string[]): string =>
    run('podman', [...places, '--cgroup-manager=cgroupfs', '--runtime=runc', ...args]);
  const build: Containers['build'] = ({ tag, dockerfile, context, args = [] }) => {
    const file = join(folder, 'Dockerfile');
    writeFileSync(file, dockerfile);
    const where = ['--isolation=chroot', '--network=host', '--pull=never'];
    podman(
      'build',
      '--tag',
      tag,
      '--file',
      file,
      ...where,
      ...args.map((arg) => `--build-arg=${arg}`),
      context,
    );
  };
  const dispose = (): void => {
    podman('rm', '--all', '--force', '--time=1');
    podman('rmi', '--all', '--force');
    rmSync(folder, { recursive: true, force: true });
  };
  const bases = provideBases(folder, { podman, build, places });
  return { bases, podman, build, dispose };
};

const provideBases = (
  folder: string,
  { podman, build, places }: Pick<Containers, 'podman' | 'build'> & { readonly places: readonly string[] },
): string => {
  try {
    for (const image of [debian, nodeImage]) {
      run('podman', [...places, 'pull', '--quiet', image], pullSecondsMax);
    }
    return 'the registry';
  } catch {
    needProgram('debootstrap');
    run('debootstrap', ['--variant=minbase', 'bookworm', join(folder, 'debian')]);
    run('tar', ['-C', join(folder, 'debian'), '-cf', join(folder, 'debian.tar'), '.']);
    podman('import', join(folder, 'debian.tar'), debian);
    const context = join(folder, 'node');
    mkdirSync(context);
    run('npm', ['install', '--prefix', join(context, 'files'), '--no-audit', 'node@22', 'npm@10.9.3']);
    const path = 'PATH=/files/node_modules/.bin:/usr/sbin:/usr/bin:/sbin:/bin';
    // Behind a proxy that reads TLS, npm needs the machine's certificates.
    const trust = certificates === undefined ? '' : 'NODE_EXTRA_CA_CERTS=/files/certificates.crt';
    if (certificates !== undefined) copyFileSync(certificates, join(context, 'files/certificates.crt'));
    const dockerfile = `FROM ${debian}\nCOPY files /files\nENV ${path} ${trust}\n`;
    build({ tag: nodeImage, dockerfile, context });
    return 'Debian’s packages, with Node from npm';
  }
};
