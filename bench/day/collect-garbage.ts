/**
 * Preloaded into the nodes of a day: SIGUSR2 makes them collect all their garbage and give the pages back, so
 * that what stays resident is in use. Does nothing on its own.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as (how: Readonly<Record<string, string>>) => void;

// Any other flavour keeps the freed pages for new objects: what lives could grow by 100 MB unseen.
process.on('SIGUSR2', () => collect({ type: 'major', execution: 'sync', flavor: 'last-resort' }));
