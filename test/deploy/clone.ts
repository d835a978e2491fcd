/**
 * A fresh clone of this project, for a user without rights whose home folder is empty, and a Node from npm.
 *
 * Runs commands there as that user, and measures time and disk. As root it uses the user `nobody`, or root;
 * otherwise the caller's own. The clone lies in a folder of mode 0700. Nothing but the registry of npm is
 * reached.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { letPass, type ProcessUser } from '../../bench/shared/unprivileged-user.ts';
import { watchChild } from '../support/child.ts';

const project = join(import.meta.dirname, '../..');
const unprivilegedId = 65_534;
export const isRoot = process.getuid?.() === 0;
const unprivileged = isRoot ? { uid: unprivilegedId, gid: unprivilegedId } : null;
/** What a machine needs to reach a registry behind a proxy. */
const networkVariables = /^(https?_proxy|no_proxy|NODE_EXTRA_CA_CERTS)$/i;
/** Releases of npm that the Nodes came with. */
const npmVersions: Readonly<Record<string, string>> = { 18: '10.8.2', 20: '10.8.2', 22: '10.9.3' };

export interface Ended {
  readonly code: number | null;
  readonly output: string;
  readonly seconds: number;
}
export interface Started {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
  output(): string;
}
export interface Clone {
  readonly folder: string;
  /** Another folder that the user may write. */
  readonly home: string;
  start(command: string, args: readonly string[], settings?: Readonly<Record<string, string>>): Started;
  execute(
    command: string,
    args: readonly string[],
    settings?: Readonly<Record<string, string>>,
  ): Promise<Ended>;
  /** Lists what git sees as changed. */
  listChanges(): string;
  /** Takes the right to write from all files of the clone. */
  forbidWriting(): void;
  measureMegabytes(path: string): number;
  dispose(): void;
}

const runAsRoot = (command: string, args: readonly string[]): string => {
  const { status, stdout, stderr, error } = spawnSync(command, args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${command} ${args[0]}: ${error?.message ?? stderr}`);
  return stdout;
};

/** Installs this Node and an npm, by default the one that came with it, into a folder of their own. */
export const installNode = (major: string, npm = npmVersions[major]): string => {
  // The runner's folder is open to root alone.
  letPass(unprivileged, tmpdir());
  const folder = mkdtempSync(join(tmpdir(), `rollcall-node${major}-`));
  chmodSync(folder, 0o755);
  const packages = [`node@${major}`, `npm@${npm}`];
  runAsRoot('npm', ['install', '--prefix', folder, '--no-audit', '--no-fund', ...packages]);
  return folder;
};

/** Clones the last commit. Commands find the Node and npm in `nodeFolder` first; `null`: run by our user. */
export const cloneProject = (nodeFolder: string, user: ProcessUser | null = unprivileged): Clone => {
  const base = mkdtempSync(join(tmpdir(), 'rollcall-clone-'));
  const folder = join(base, 'rollcall');
  const home = join(base, 'home');
  runAsRoot('git', ['-c', 'safe.directory=*', 'clone', '--quiet', '--no-hardlinks', project, folder]);
  mkdirSync(home);
  if (user !== null) runAsRoot('chown', ['-R', `${user.uid}:${user.gid}`, base]);
  const network = Object.entries(process.env).filter(([name]) => networkVariables.test(name));
  const environment = {
    ...Object.fromEntries(network),
    HOME: home,
    PATH: `${join(nodeFolder, 'node_modules/.bin')}:/usr/bin:/bin`,
  };
  const start: Clone['start'] = (command, args, settings = {}) =>
    startCommand(command, args, { cwd: folder, env: { ...environment, ...settings }, ...user });
  return {
    folder,
    home,
    start,
    execute: (...command) => start(...command).ended,
    listChanges: () => runAsRoot('git', ['-c', 'safe.directory=*', '-C', folder, 'status', '--porcelain']),
    forbidWriting: () => void runAsRoot('chmod', ['-R', 'a-w', folder]),
    measureMegabytes: (path) => Number(runAsRoot('du', ['-sm', path]).split('\t')[0]),
    dispose: () => {
      runAsRoot('chmod', ['-R', 'u+w', base]);
      rmSync(base, { recursive: true, force: true });
    },
  };
};

const startCommand = (
  command: string,
  args: readonly string[],
  place: Partial<ProcessUser> & { readonly cwd: string; readonly env: Record<string, string | undefined> },
): Started => {
  const startedMs = performance.now();
  const child = spawn(command, args, { ...place, stdio: ['ignore', 'pipe', 'pipe'] });
  const { output, ended } = watchChild(child);
  const seconds = () => Math.round((performance.now() - startedMs) / 1_000);
  return { child, ended: ended.then((end) => ({ ...end, seconds: seconds() })), output };
};
