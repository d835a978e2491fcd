/**
 * Preloaded into the nodes of a day, and so into each of their threads: SIGUSR2 makes all of them collect
 * their garbage and give the pages back, so that what stays resident is in use. Does nothing on its own.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { BroadcastChannel, isMainThread } from 'node:worker_threads';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as (how: Readonly<Record<string, string>>) => void;
// Any other flavour keeps the freed pages for new objects: what lives could grow by 100 MB unseen.
const collectAll = (): void => collect({ type: 'major', execution: 'sync', flavor: 'last-resort' });

const threads = new BroadcastChannel('collect garbage');
threads.unref();
// Only the main thread gets signals.
if (isMainThread)
  process.on('SIGUSR2', () => {
    threads.postMessage(null);
    collectAll();
  });
else threads.onmessage = collectAll;
