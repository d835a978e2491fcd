/**
 * Loaded into every test process before its file. It lets uvu say why a hook threw. Asked by SIGUSR2, it
 * names what keeps the process alive; when the runner is gone (its end of stdin closes), it ends the test's
 * whole process group, so that even a killed runner leaves nothing behind.
 */
import { isMainThread } from 'node:worker_threads';
import { tellHookReasons } from './hook-reasons.ts';
import { parentVariable } from './processes.ts';

// Children of tests inherit this file through `execArgv`; only the test process itself is guarded.
if (isMainThread && process.env[parentVariable] === String(process.ppid)) {
  tellHookReasons();
  process.on('SIGUSR2', () => {
    process.stderr.write(`\nStill open: ${process.getActiveResourcesInfo().join(', ')}\n`);
  });
  process.stdin.on('end', () => process.kill(0, 'SIGKILL'));
  process.stdin.resume();
  process.stdin.unref();
}
