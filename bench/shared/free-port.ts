/**
 * Finds free ports for the servers that tests and benches start; gives out each port once in a run.
 *
 * The ports lie below the range from which the system takes ports for outgoing connections: a port from there
 * could be taken between the check and the server's bind, or before a killed server starts again. Files in
 * the folder that the run's test files share mark the ports given out.
 */
import { randomInt } from 'node:crypto';
import { closeSync, openSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getSharedFolder } from './shared-folder.ts';

const lowest = 10_000;
const highest = 30_000;
const triesMax = 200;

/** A free port of 127.0.0.1 that no other process of this run was given. */
export const findFreePort = async (): Promise<number> => {
  for (let tries = 0; tries < triesMax; tries++) {
    const port = randomInt(lowest, highest);
    if (isOurs(port) && (await isFree(port))) return port;
  }
  throw new Error(`No free port from ${lowest} to ${highest} in ${triesMax} tries.`);
};

/** Reserves the port; false when it was given out before. */
const isOurs = (port: number): boolean => {
  try {
    closeSync(openSync(join(getSharedFolder() ?? tmpdir(), `port-${port}`), 'wx'));
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
