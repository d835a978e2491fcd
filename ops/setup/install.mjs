/**
 * Installs the packages that package.json requires, unless they are installed already: those of the server,
 * or with the set `all` also the tools for tests, benches and checks.
 *
 * npm ends an installation with finish.mjs, which checks it and writes the stamp (stamp.mjs). While that
 * matches, this costs a few milliseconds and starts nothing. Only one process installs at a time. Progress is
 * shown on stderr; the message of a failure has its likely cause, and the end of npm's output.
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
import { setTimeout as sleep } from 'node:timers/promises';
import { takeLock } from '../../storage/embedded/lock-file.mjs';
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

const pollMs = 250;

/** Waits for the lock at `path`, runs `task` and releases the lock. Resolves to the result of `task`. */
const withLock = async (path, task) => {
  let lock = await takeLock(path);
  if (lock === null) console.error('Another process is installing the libraries. Waiting for it to finish.');
  for (; lock === null; lock = await takeLock(path)) await sleep(pollMs);
  try {
    return await task();
  } finally {
    lock.release();
  }
};

const frames = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const frameMs = 120;
const plainMs = 15_000;

/** Shows `title` until `end(outcome)` is called, which prints the outcome ("done") and the elapsed time. */
const showProgress = (title) => {
  const startedMs = Date.now();
  const seconds = () => Math.round((Date.now() - startedMs) / 1_000);
  const terminal = process.stderr.isTTY === true;
  if (!terminal) console.error(`${title} …`);
  let frame = 0;
  const timer = setInterval(
    () => {
      if (terminal)
        process.stderr.write(`\r\x1b[2K${frames[frame++ % frames.length]} ${title} … ${seconds()} s`);
      else console.error(`  still installing, ${seconds()} s`);
    },
    terminal ? frameMs : plainMs,
  );
  return {
    end: (outcome) => {
      clearInterval(timer);
      if (terminal) process.stderr.write('\r\x1b[2K');
      console.error(terminal ? `${title}: ${outcome} in ${seconds()} s` : `  ${outcome} in ${seconds()} s`);
    },
  };
};

const linesShown = 25;

const causes = [
  {
    pattern: /ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|ERR_SOCKET_TIMEOUT|network/i,
    advice:
      'The package registry could not be reached. Check the network; behind a proxy set HTTPS_PROXY,' +
      ' with a registry of your own run `npm config set registry <url>`.',
  },
  {
    pattern: /CERT|SELF_SIGNED|unable to (get|verify)/,
    advice: 'The registry’s certificate was not trusted. Set your authority: `npm config set cafile <file>`.',
  },
  { pattern: /ENOSPC/, advice: 'The disk is full: about 1 GB is needed here and in the npm cache.' },
  {
    pattern: /EACCES|EPERM/,
    advice:
      'A file could not be written. This folder and ~/.npm must belong to the user who runs the command.',
  },
  { pattern: /EINTEGRITY/, advice: 'A download was damaged. Run `npm cache clean --force`.' },
  {
    pattern: /EBADPLATFORM|GLIBC/,
    advice: 'This system is not supported: Linux (glibc 2.31 or newer) or macOS.',
  },
];

/**
 * `problem` is the cause that was found here: `npm_missing` or a sentence; `null` when npm itself failed.
 */
const explain = ({ log, logPath, problem }) => {
  if (problem === 'npm_missing') {
    return 'npm was not found. It comes with Node: install Node from https://nodejs.org and try again.';
  }
  const tail = log.trimEnd().split('\n').slice(-linesShown).join('\n');
  const advice = causes.find(({ pattern }) => pattern.test(log))?.advice;
  return [
    'The libraries could not be installed.',
    ...(problem === null ? [] : [`Cause: ${problem}.`]),
    ...(tail === '' ? [] : ['', tail, '']),
    ...(advice === undefined ? [] : [advice]),
    `The whole output of npm is in ${logPath}. Solve the problem, then run the same command again.`,
  ].join('\n');
};
