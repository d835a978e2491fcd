/**
 * Installs the packages that package.json requires, unless they are installed already: those of the server,
 * or with the set `all` also the tools for tests, benches and checks.
 *
 * npm ends an installation with finish.mjs, which checks it and writes the stamp (stamp.mjs). While that
 * matches, this costs a few milliseconds and starts nothing. Only one process installs at a time (lock.mjs).
 * Never changes package.json or the lock file.
 */
import { spawn } from 'node:child_process';
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
import {
  findOwnFolder,
  findUnfinishedMark,
  forgetInstalled,
  isInstalled,
  readInstalledSet,
} from './stamp.mjs';

/** Resolves to `null` when the set is installed, otherwise to a message for the user and an exit code. */
export const install = async (root, set) => {
  const folder = findOwnFolder(root);
  try {
    mkdirSync(folder, { recursive: true });
  } catch (error) {
    return { message: `Cannot write to ${folder}: ${error.message}`, exitCode: 1 };
  }
  return withLock(join(folder, 'installing'), () =>
    // Another process may have installed everything while this one waited for the lock.
    isInstalled(root, set) ? null : installNow(root, set),
  );
};

const installNow = async (root, set) => {
  const log = join(findOwnFolder(root), 'install.log');
  // Tools that are there stay: `npm start` between two runs of the tests must not remove them.
  const chosen = readInstalledSet(root) === 'all' ? 'all' : set;
  forgetInstalled(root);
  // npm keeps the packages it finds, so a package that a killed attempt wrote only in part would stay
  // broken.
  if (existsSync(findUnfinishedMark(root))) removePackages(join(root, 'node_modules'));
  writeFileSync(findUnfinishedMark(root), '');
  const title =
    chosen === 'all' ? 'Installing the libraries and the tools for tests' : 'Installing the libraries';
  const progress = showProgress(`${title} (first start only)`);
  const result = await runNpm(root, chosen, log);
  if (result.interrupted) {
    progress.end('stopped');
    return { message: 'Stopped. Run the same command again to continue.', exitCode: 130 };
  }
  const problem = result.error ?? (result.code === 0 && !isInstalled(root, set) ? scriptsIgnored : null);
  if (result.code !== 0 || problem !== null) {
    progress.end('failed');
    return { message: explain({ log: readFileSync(log, 'utf8'), logPath: log, problem }), exitCode: 1 };
  }
  progress.end('done');
  return null;
};

const scriptsIgnored = 'npm ran no scripts; allow them: `npm config set ignore-scripts false`';

const removePackages = (folder) => {
  for (const name of readdirSync(folder)) {
    if (name !== '.rollcall') rmSync(join(folder, name), { recursive: true, force: true });
  }
};

const runNpm = (root, set, log) => {
  const output = openSync(log, 'w');
  const args = ['install', '--no-save', '--no-audit', '--no-fund', '--loglevel=warn'];
  if (set === 'production') args.push('--omit=dev');
  let interrupted = false;
  let child;
  const interrupt = () => {
    interrupted = true;
    // SIGKILL, because npm's own clean-up takes long. The next start removes everything.
    process.kill(-child.pid, 'SIGKILL');
  };
  // Before npm starts: a signal that came first would end this process and leave npm running.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, interrupt);
  // In a process group of its own: npm starts scripts, and a stop has to end all of them.
  child = spawn('npm', args, { cwd: root, stdio: ['ignore', output, output], detached: true });
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
