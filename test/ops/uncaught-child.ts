/**
 * A process with an uncaught error whose stop never ends. Started by uncaught.stores.test.ts.
 */
import { endOnUncaught } from '../../ops/uncaught.ts';

setInterval(() => {
  // Keeps the process alive.
}, 60_000);
endOnUncaught({ stop: () => new Promise(() => {}), limitMs: 50 });
throw new Error('a fault of the test');
