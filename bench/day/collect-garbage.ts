/**
 * Preloaded into the nodes of a day: SIGUSR2 makes them collect all their garbage, so that what is left of
 * their memory is in use. Does nothing on its own.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

process.on('SIGUSR2', () => collect());
