/**
 * Makes sure that what package.json asks for is installed for this machine, by the pinned Node.
 *
 * npm itself runs under that Node, because npm picks packages with binaries by the Node it runs on. A stamp
 * in node_modules says what was installed; while it fits, nothing is started and this costs a few
 * milliseconds. Never two at a time (lock.mjs), never changes package.json or the lock file.
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

/** Resolves to `null` when everything is in place, else to words for the user and an exit code. */
export const install = async (root) => {
  const fingerprint = fingerprintOf(root);
  if (isInstalled(root, fingerprint)) return null;
  const folder = join(root, 'node_modules', '.rollcall');
  try {
    mkdirSync(folder, { recursive: true });
  } catch (error) {
    return { words: `Cannot write to ${folder}: ${error.message}`, exitCode: 1 };
  }
  return withLock(join(folder, 'installing'), () =>
    // Whoever held the lock before us may have done the work.
    isInstalled(root, fingerprint) ? null : installNow(root, folder, fingerprint),
  );
};

const installNow = async (root, folder, fingerprint) => {
  const log = join(folder, 'install.log');
  const stamp = join(folder, 'installed');
  const unfinished = join(folder, 'unfinished');
  rmSync(stamp, { force: true });
  // npm trusts what it finds: a package half written by an attempt that was killed would stay so for ever.
  if (existsSync(unfinished)) removePackages(join(root, 'node_modules'));
  writeFileSync(unfinished, '');
  const progress = showProgress('Installing the libraries (first start only)');
  const result = await runNpm(root, log);
  if (result.interrupted) {
    progress.end('stopped');
    return { words: 'Stopped. Run the same command again to go on.', exitCode: 130 };
  }
  const problem = result.error ?? (result.code === 0 ? runtimeProblem(root) : null);
  if (result.code !== 0 || problem !== null) {
    progress.end('failed');
    return { words: explain({ log: readFileSync(log, 'utf8'), logPath: log, problem }), exitCode: 1 };
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
  const [command, ...words] = npmWords(root);
  // In a group of its own: npx starts npm, npm starts scripts, and stopping has to reach them all.
  const child = spawn(command, words, { cwd: root, stdio: ['ignore', output, output], detached: true });
  let interrupted = false;
  const interrupt = () => {
    interrupted = true;
    // At once: npm's own undoing goes on long after npx has ended. The next start begins from nothing anyway.
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

const npmWords = (root) => {
  const install = ['npm', 'install', '--no-save', '--no-audit', '--no-fund', '--loglevel=warn'];
  const { node } = readManifest(root).dependencies;
  const pinned = process.versions.node.split('.')[0] === node.split('.')[0];
  return pinned ? install : ['npx', '--yes', '--package', `node@${node}`, ...install];
};

/** What the stamp must say: what is asked for and the machine it was chosen for. */
const fingerprintOf = (root) => {
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

/** `null` when the installed Node starts, is the pinned one, and loads the parts that are made for it. */
const runtimeProblem = (root) => {
  const { node } = readManifest(root).dependencies;
  const asked = spawnSync(join(root, 'node_modules', '.bin', 'node'), ['--version'], { encoding: 'utf8' });
  if (asked.error) return `the installed Node does not start: ${asked.error.message}`;
  const version = asked.stdout.trim();
  if (version !== `v${node}`) return `the installed Node is ${version || 'silent'}, expected v${node}`;
  return nativeProblem(root);
};

const nativeNames = ['uWebSockets.js', 'lmdb'];

/** npm counts a package with binaries as optional, and says nothing when it took those of another Node. */
const nativeProblem = (root) => {
  const { dependencies } = readManifest(root);
  const load = nativeNames.map((name) => (dependencies[name] ? `require('${name}');` : '')).join('');
  const loaded = spawnSync(join(root, 'node_modules', '.bin', 'node'), ['-e', load], {
    cwd: root,
    encoding: 'utf8',
  });
  if (loaded.status === 0) return null;
  const said = /^\w*Error: .*$/m.exec(loaded.stderr)?.[0] ?? loaded.stderr.trim().slice(-200);
  return `a native part does not load: ${said}`;
};

const readManifest = (root) => JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
