/**
 * Ports for servers that tests and benches start, each given out once in a run.
 *
 * They lie below the range from which the system takes ports for outgoing connections: a port from there may
 * be taken between our look and the server's bind, or while a server that a test killed is to come back on
 * its own. Files in the folder that the run's test files share mark what is given out. Called by the helpers
 * that start servers.
 */
import { randomInt } from 'node:crypto';
import { closeSync, openSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sharedFolder } from './shared.ts';

const lowest = 10_000;
const highest = 30_000;
const triesMax = 200;

/** A port of 127.0.0.1 that nobody listens on and nobody else was given. */
export const freePort = async (): Promise<number> => {
  for (let tries = 0; tries < triesMax; tries++) {
    const port = randomInt(lowest, highest);
    if (isOurs(port) && (await isFree(port))) return port;
  }
  throw new Error(`No free port from ${lowest} to ${highest} in ${triesMax} tries.`);
};

/** Whether nobody was given it before; now we are. */
const isOurs = (port: number): boolean => {
  try {
    closeSync(openSync(join(sharedFolder() ?? tmpdir(), `port-${port}`), 'wx'));
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    return false;
  }
};

const isFree = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(false));
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)));
  });
