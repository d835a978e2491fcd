/**
 * Installs the packages that package.json requires, unless they are installed already.
 *
 * npm runs under the pinned Node, because npm chooses binary packages for the Node it runs on. A stamp file
 * in node_modules records what is installed; while it matches, this costs a few milliseconds and starts
 * nothing. Only one process installs at a time (lock.mjs). Never changes package.json or the lock file. Used
 * by run.mjs.
 */
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { explain } from './explain.mjs';
import { withLock } from './lock.mjs';
import { showProgress } from './progress.mjs';

/** Resolves to `null` when everything is installed, otherwise to a message for the user and an exit code. */
export const install = async (root) => {
  const fingerprint = computeFingerprint(root);
  if (isInstalled(root, fingerprint)) return null;
  const folder = join(root, 'node_modules', '.rollcall');
  try {
    mkdirSync(folder, { recursive: true });
  } catch (error) {
    return { message: `Cannot write to ${folder}: ${error.message}`, exitCode: 1 };
  }
  return withLock(join(folder, 'installing'), () =>
    // Another process may have installed everything while this one waited for the lock.
    isInstalled(root, fingerprint) ? null : installNow(root, folder, fingerprint),
  );
};

const installNow = async (root, folder, fingerprint) => {
  const log = join(folder, 'install.log');
  const stamp = join(folder, 'installed');
  const unfinished = join(folder, 'unfinished');
  rmSync(stamp, { force: true });
  // npm keeps the packages it finds, so a package that a killed attempt wrote only in part would stay
  // broken.
  if (existsSync(unfinished)) removePackages(join(root, 'node_modules'));
  writeFileSync(unfinished, '');
  const progress = showProgress('Installing the libraries (first start only)');
  const result = await runNpm(root, log);
  if (result.interrupted) {
    progress.end('stopped');
    return { message: 'Stopped. Run the same command again to continue.', exitCode: 130 };
  }
  const problem = result.error ?? (result.code === 0 ? findRuntimeProblem(root) : null);
  if (result.code !== 0 || problem !== null) {
    progress.end('failed');
    return { message: explain({ log: readFileSync(log, 'utf8'), logPath: log, problem }), exitCode: 1 };
  }
  writeFileSync(stamp, fingerprint);
  rmSync(unfinished);
  progress.end('done');
  return null;
};

const removePackages = (folder) => {
  for (const name of readdirSync(folder)) {
    if (name !== '.rollcall') rmSync(join(folder, name), { recursive: true, force: true });
  }
};

const runNpm = (root, log) => {
  const output = openSync(log, 'w');
  const [command, ...args] = buildNpmCommand(root);
  // In a process group of its own: npx starts npm, npm starts scripts, and a stop has to end all of them.
  const child = spawn(command, args, { cwd: root, stdio: ['ignore', output, output], detached: true });
  let interrupted = false;
  const interrupt = () => {
    interrupted = true;
    // SIGKILL, because npm's clean-up continues long after npx has ended. The next start removes everything.
    process.kill(-child.pid, 'SIGKILL');
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, interrupt);
  return new Promise((resolve) => {
    const finish = (result) => {
      for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.off(signal, interrupt);
      closeSync(output);
      resolve({ ...result, interrupted });
    };
    child.once('error', (error) =>
      finish({ code: 1, error: error.code === 'ENOENT' ? 'npm_missing' : error.message }),
    );
    child.once('exit', (code) => finish({ code: code ?? 1, error: null }));
  });
};

const buildNpmCommand = (root) => {
  const install = ['npm', 'install', '--no-save', '--no-audit', '--no-fund', '--loglevel=warn'];
  const { node } = readManifest(root).dependencies;
  const isPinnedMajor = process.versions.node.split('.')[0] === node.split('.')[0];
  return isPinnedMajor ? install : ['npx', '--yes', '--package', `node@${node}`, ...install];
};

/** The content of the stamp: a hash of the required packages, the lock file and the platform. */
const computeFingerprint = (root) => {
  const { dependencies, devDependencies, allowScripts } = readManifest(root);
  const lock = join(root, 'package-lock.json');
  return createHash('sha256')
    .update(JSON.stringify([dependencies, devDependencies, allowScripts, process.platform, process.arch]))
    .update(existsSync(lock) ? readFileSync(lock) : '')
    .digest('hex');
};

const isInstalled = (root, fingerprint) => {
  const stamp = join(root, 'node_modules', '.rollcall', 'installed');
  const node = join(root, 'node_modules', '.bin', 'node');
  return existsSync(stamp) && readFileSync(stamp, 'utf8') === fingerprint && existsSync(node);
};

/** `null` when the installed Node starts, has the pinned version, and loads the native packages. */
const findRuntimeProblem = (root) => {
  const { node } = readManifest(root).dependencies;
  const result = spawnSync(join(root, 'node_modules', '.bin', 'node'), ['--version'], { encoding: 'utf8' });
  if (result.error) return `the installed Node does not start: ${result.error.message}`;
  const version = result.stdout.trim();
  if (version !== `v${node}`) return `the installed Node is ${version || 'unknown'}, expected v${node}`;
  return findNativeProblem(root);
};

const nativeNames = ['uWebSockets.js', 'lmdb'];

/** npm treats binaries as optional, and reports nothing when it has installed those of another Node. */
const findNativeProblem = (root) => {
  const { dependencies } = readManifest(root);
  const script = nativeNames.map((name) => (dependencies[name] ? `require('${name}');` : '')).join('');
  const result = spawnSync(join(root, 'node_modules', '.bin', 'node'), ['-e', script], {
    cwd: root,
    encoding: 'utf8',
  });
  if (result.status === 0) return null;
  const reason = /^\w*Error: .*$/m.exec(result.stderr)?.[0] ?? result.stderr.trim().slice(-200);
  return `a native package does not load: ${reason}`;
};

const readManifest = (root) => JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
