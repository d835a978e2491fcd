/**
 * A process with an uncaught error whose stop never ends.
 */
import { createLogger } from '../../ops/log/log.ts';
import { endOnUncaught } from '../../ops/watch/uncaught.ts';

setInterval(() => {
  // Keeps the process alive.
}, 60_000);
const logger = createLogger({ level: 'info', form: 'json' });
endOnUncaught({ stop: () => new Promise(() => {}), limitMs: 50, logger });
throw new Error('a fault of the test');
