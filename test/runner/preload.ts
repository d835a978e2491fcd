/**
 * Loaded into every test process before its file. It lets uvu say why a hook threw. Asked by SIGUSR2, it
 * names what keeps the process alive; when the runner is gone (its end of stdin closes), it ends the test
 * with all its children, so that even a killed runner leaves no process behind.
 */
import { isMainThread } from 'node:worker_threads';
import { tellHookReasons } from './hook-reasons.ts';
import { endAll, markVariable, parentVariable } from './processes.ts';

// Children of tests inherit this file through `execArgv`; only the test process itself is guarded.
if (isMainThread && process.env[parentVariable] === String(process.ppid)) {
  tellHookReasons();
  process.on('SIGUSR2', () => {
    process.stderr.write(`\nStill open: ${process.getActiveResourcesInfo().join(', ')}\n`);
  });
  process.stdin.on('end', () => endAll(process.pid, process.env[markVariable] ?? ''));
  process.stdin.resume();
  process.stdin.unref();
}
