/**
 * Loaded into a real process before its program: SIGUSR2 makes an error that nothing catches, thrown at the
 * first signal and as a rejected promise at later ones. Started by uncaught.test.ts.
 */
import { isMainThread } from 'node:worker_threads';

let faults = 0;
if (isMainThread) {
  process.on('SIGUSR2', () => {
    faults += 1;
    if (faults === 1) throw new Error('a fault of the test, thrown');
    void Promise.reject(new Error('a fault of the test, rejected'));
  });
}
