/**
 * Loaded into a real process before its program: the first SIGUSR2 throws an uncaught error, each later one
 * rejects a promise that nothing handles.
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
