/**
 * Finds the server programs that tests and benches need, or installs them where that is allowed, or says what
 * to install.
 *
 * Never starts a service and never touches a running one. Installs only on Debian as root: it keeps the
 * package's service from starting, and Postgres from making a cluster. Throws a message about what to install
 * when a program is not available.
 */
import { spawnSync } from 'node:child_process';
import { accessSync, constants, existsSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';

export interface NeededProgram {
  readonly name: string;
  /** The name of Debian's package. */
  readonly debianPackage: string;
  /** Returns the program's folder, `null` when it is missing or unsuitable. */
  readonly find: () => string | null;
  /** What to do on other machines. */
  readonly advice: string;
}

const policyFile = '/usr/sbin/policy-rc.d';
const clusterFile = '/etc/postgresql-common/createcluster.conf';
const lockFile = '/tmp/rollcall-packages.lock';
const secondsMax = 600;

/** Returns the program's folder. Throws what to install when it is not available. */
export const findOrInstallProgram = (needed: NeededProgram): string => {
  const present = needed.find();
  if (present !== null) return present;
  const outcome = mayInstall() ? install(needed) : 'it is installed automatically only on Debian, as root';
  const installed = needed.find();
  if (installed !== null) return installed;
  throw new Error(`This needs ${needed.name}, which is missing (${outcome}). ${needed.advice}`);
};

/** The first folder of PATH and of `more` that contains this program. */
export const findFolder = (program: string, more: readonly string[] = []): string | null => {
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
 * Installs one package at a time on this machine: two test files may find programs missing at once. During
 * the installation a policy file of ours keeps packages from starting services; it is removed afterwards. The
 * file that keeps Postgres from making a cluster stays: it is the package's own.
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

/** Returns a message on the outcome. */
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
