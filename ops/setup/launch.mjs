/**
 * Starts a script or tool on the installed Node and stays out of its way: it owns the terminal, gets every
 * signal once, and its exit (code or signal) becomes ours.
 *
 * A channel between us carries no message. It closes when this process ends, however it ends, or when the npm
 * that started it is gone; a script that listens for `disconnect` then ends as well.
 */
import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { delimiter, join } from 'node:path';
import { watchNpm } from './parents.mjs';

/** Before every script. Only Node 22 has what that module needs, so it is named here and never imported. */
export const preloaded = ['--import', new URL('./stripped.mjs', import.meta.url).href];

/**
 * Type stripping is announced as experimental by Node 22; we rely on it, so the warning only hides others.
 *
 * Room for what is young (MiB; twice that is in use): with Node's own 16, what some thousand requests have in
 * hand is copied after every 2,500 of them, and much of it is taken for old. ops/deploy has the same words.
 */
export const nodeFlags = ['--disable-warning=ExperimentalWarning', '--max-semi-space-size=64'];

/** Runs `words` (script and arguments, or `--bin`, tool and arguments). Resolves to the exit code. */
export const launch = (root, words) => {
  const script =
    words[0] === '--bin' ? join(root, 'node_modules', '.bin', words[1] ?? '') : join(root, words[0]);
  const rest = words.slice(words[0] === '--bin' ? 2 : 1);
  const bin = join(root, 'node_modules', '.bin');
  const child = spawn(join(bin, 'node'), [...nodeFlags, ...preloaded, script, ...rest], {
    cwd: root,
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    env: { ...process.env, PATH: `${bin}${delimiter}${process.env.PATH ?? ''}` },
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
 * A terminal sends Ctrl-C to the whole foreground group, the child included, so it is forwarded only where no
 * terminal does that: a script that treats a second Ctrl-C as "at once" must not see two for one.
 */
const forwardSignals = (child) => {
  const handlers = ['SIGINT', 'SIGTERM', 'SIGHUP'].map((signal) => {
    const handler = () => {
      if (signal !== 'SIGINT' || !process.stdin.isTTY) child.kill(signal);
    };
    process.on(signal, handler);
    return [signal, handler];
  });
  return () => {
    for (const [signal, handler] of handlers) process.off(signal, handler);
  };
};
