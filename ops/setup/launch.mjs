/**
 * Starts a script or tool on the installed Node: the child owns the terminal and gets every signal once, and
 * this process exits with its exit code.
 *
 * The IPC channel to the child carries no messages. It closes when this process ends in any way, or when the
 * npm that started this process ends; a script that listens for `disconnect` then ends as well.
 */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { constants } from 'node:os';
import { delimiter, join } from 'node:path';
import { drainingSignals, endingSignals, terminalSignals } from './signals.mjs';

/** The modules to load before each script. Passed as options, not imported, since they need Node 22. */
export const preloaded = ['limits', 'stripped'].flatMap((name) => [
  '--import',
  new URL(`./${name}.mjs`, import.meta.url).href,
]);

/**
 * `--disable-warning`: Node 22 warns that type stripping is experimental; we rely on it.
 *
 * `--disable-sigusr1`: the signal opens no debugger (signals.mjs).
 *
 * `--wasm-…`: V8 compiles the embedded Postgres a second time, function by function, as they are used. By
 * default several threads do that within the first second, and each retains some 20 MB.
 *
 * `--network-…`: an address of a store that has several may be as far away as another continent; by default
 * Node gives each but the last 250 ms. `ops/bin/rollcall` repeats these options.
 */
export const nodeFlags = [
  '--disable-warning=ExperimentalWarning',
  '--disable-sigusr1',
  '--wasm-num-compilation-tasks=1',
  '--wasm-tiering-budget=60000000',
  '--network-family-autoselection-attempt-timeout=1000',
];

/**
 * What a node on Redis has besides.
 *
 * `--max-semi-space-size`: the young generation, in MiB. The default of 16 is too small for the objects of
 * some thousand requests in flight: they would be copied about every 2,500 requests, and many would move to
 * the old generation. A node on the embedded stores has the default: no slower there, and 60 MB lighter.
 *
 * `--gc-memory-reducer-start-delay-ms`: V8 gives memory back once it has been quiet so long. By default that
 * is eight seconds, and what a fall from 1,000 to 50 requests a second then costs, with the collections that
 * follow in a heap without room, is up to a third of the CPU of the next two minutes.
 */
export const busyNodeFlags = ['--max-semi-space-size=64', '--gc-memory-reducer-start-delay-ms=600000'];

/** The options of Node for a process with these settings. */
export const buildNodeFlags = ({ REDIS_URL = '' }) =>
  REDIS_URL === '' ? nodeFlags : [...nodeFlags, ...busyNodeFlags];

/**
 * The environment of a node with these settings, which win. Without Redis it has threads for LMDB and SQL,
 * and glibc keeps memory apart for each of them: one arena takes 10 to 40 MB less, and no more CPU.
 */
export const buildEnvironment = (settings) =>
  (settings.REDIS_URL ?? '') === '' ? { MALLOC_ARENA_MAX: '1', ...settings } : settings;

/** `args` is a script and its arguments, or `--bin`, a tool and its arguments. Resolves to the exit code. */
export const launch = (root, args) => {
  const script =
    args[0] === '--bin' ? join(root, 'node_modules', '.bin', args[1] ?? '') : join(root, args[0]);
  const rest = args.slice(args[0] === '--bin' ? 2 : 1);
  const bin = join(root, 'node_modules', '.bin');
  const child = spawn(join(bin, 'node'), [...buildNodeFlags(process.env), ...preloaded, script, ...rest], {
    cwd: root,
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    env: {
      ...(args[0] === 'ops/main.ts' ? buildEnvironment(process.env) : process.env),
      PATH: `${bin}${delimiter}${process.env.PATH ?? ''}`,
    },
  });
  const stopForwarding = forwardSignals(child);
  const stopWatching = watchNpm(() => child.connected && child.disconnect());
  return new Promise((resolve) => {
    child.once('error', (error) => {
      stopForwarding();
      stopWatching();
      console.error(
        `The installed Node does not start: ${error.message}.` +
          '\nDelete node_modules and run the same command again.',
      );
      resolve(1);
    });
    child.once('exit', (code, signal) => {
      stopForwarding();
      stopWatching();
      resolve(code ?? 128 + constants.signals[signal]);
    });
  });
};

/**
 * Forwards signals to the child. A terminal already sends Ctrl-C to all processes of the foreground group, so
 * that is forwarded only without a terminal: otherwise the script would see two signals for one Ctrl-C.
 */
const forwardSignals = (child) => {
  const handlers = [...endingSignals, ...drainingSignals].map((signal) => {
    const handler = () => {
      if (!terminalSignals.includes(signal) || !process.stdin.isTTY) child.kill(signal);
    };
    process.on(signal, handler);
    return [signal, handler];
  });
  return () => {
    for (const [signal, handler] of handlers) process.off(signal, handler);
  };
};

const pollMs = 250;
const shellNames = /^(ba|da|a|k|z)?sh$|^busybox$/;

/** Returns the name and the parent of a process; `null` when it has ended, or without /proc. */
const readProcess = (pid) => {
  try {
    const match = /^\d+ \((.*)\) \S (\d+)/s.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'));
    return match && { name: match[1], parent: Number(match[2]) };
  } catch {
    return null;
  }
};

// Read while this module loads: an installation may run before the watch begins, and npm may end meanwhile.
const parent = process.ppid;
const shell = readProcess(parent);
// A shell that runs a single command often replaces itself by it; then npm itself is the parent.
const npm = shell !== null && shellNames.test(shell.name) ? shell.parent : null;

const isGone = () => process.ppid !== parent || (npm !== null && readProcess(parent)?.parent !== npm);

/**
 * Calls `onGone` once, when npm or its shell has ended, so that `npm start` and the server end together.
 * Returns a function that stops the watch.
 *
 * npm starts a script through a shell and sends signals only to that shell, which then dies; npm may also be
 * killed. The processes below get no signal, so this one polls its parents. Without npm nothing is watched: a
 * process started in the background may outlive its parent.
 */
const watchNpm = (onGone) => {
  if (process.env.npm_lifecycle_event === undefined) return () => {};
  const timer = setInterval(() => {
    if (!isGone()) return;
    clearInterval(timer);
    onGone();
  }, pollMs);
  return () => clearInterval(timer);
};
