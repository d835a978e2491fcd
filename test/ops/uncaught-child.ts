/**
 * A process whose stop never ends, and that fails right away. Started by uncaught.test.ts.
 */
import { endOnUncaught } from '../../ops/uncaught.ts';

setInterval(() => {
  // Something to live for.
}, 60_000);
endOnUncaught({ stop: () => new Promise(() => {}), limitMs: 50 });
throw new Error('a fault of the test');
