/**
 * Server programs that tests and benches need: found on the machine, or installed where that is allowed,
 * or told about.
 *
 * Never starts a service and never touches a running one. Only on Debian as root something is installed:
 * the package's own service is kept from starting, and Postgres makes no cluster of its own. A program that
 * cannot be had is an error with words on what to install. Called by the helpers that start servers.
 */
import { spawnSync } from 'node:child_process';
import { accessSync, constants, existsSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';

export interface NeededProgram {
  readonly name: string;
  /** Debian's package. */
  readonly debianPackage: string;
  /** The folder the program lies in, `null` when it is not there or not fit. */
  readonly find: () => string | null;
  /** What people on other machines should do. */
  readonly advice: string;
}

const policyFile = '/usr/sbin/policy-rc.d';
const clusterFile = '/etc/postgresql-common/createcluster.conf';
const lockFile = '/tmp/rollcall-packages.lock';
const secondsMax = 600;

/** The folder of the program. Throws words when it cannot be had. */
export const needProgram = (needed: NeededProgram): string => {
  const present = needed.find();
  if (present !== null) return present;
  const words = mayInstall() ? install(needed) : 'it is installed by itself only on Debian, as root';
  const installed = needed.find();
  if (installed !== null) return installed;
  throw new Error(`This needs ${needed.name} and it is not there (${words}). ${needed.advice}`);
};

/** The first folder of PATH and of `more` that holds this program. */
export const folderOf = (program: string, more: readonly string[] = []): string | null => {
  const folders = [...(process.env.PATH ?? '').split(delimiter), ...more];
  return folders.find((folder) => folder !== '' && isProgram(join(folder, program))) ?? null;
};

const isProgram = (path: string): boolean => {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
};

const mayInstall = (): boolean => existsSync('/etc/debian_version') && process.getuid?.() === 0;

/**
 * One package at a time on this machine: two test files may find programs missing at once. While the lock is
 * held no package may start its service, and a file of ours that says so is taken away again. The file that
 * keeps Postgres from making a cluster stays: it is the package's own.
 */
const script = `
if [ ! -e ${policyFile} ]; then
  trap 'rm -f ${policyFile}' EXIT
  trap 'exit 143' TERM INT
  printf '#!/bin/sh\\nexit 101\\n' > ${policyFile} && chmod 755 ${policyFile}
fi
if [ ! -e ${clusterFile} ]; then
  mkdir -p ${dirname(clusterFile)} && echo 'create_main_cluster = false' > ${clusterFile}
fi
apt-get -qq update
DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends \\
  -o DPkg::Lock::Timeout=${secondsMax} -o Dpkg::Options::=--force-confold "$1"
`;

/** Gives words on what happened. */
const install = ({ debianPackage, find }: NeededProgram): string => {
  console.log(`Installing ${debianPackage} (once) …`);
  const done = spawnSync('flock', [lockFile, 'sh', '-c', script, 'install', debianPackage], {
    encoding: 'utf8',
    timeout: secondsMax * 1_000,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  if (done.status === 0 || find() !== null) return 'it was installed';
  const said = (done.stderr ?? '').trim().slice(-300);
  return `apt-get ended with ${done.status ?? done.error?.message}: ${said}`;
};
