/**
 * Prints the addresses of a node that a test program started, as `npm start` does: the harness reads them.
 */
import type { Config } from '../../../ops/config/config.ts';
import { formatWelcome } from '../../../ops/demo/welcome.ts';
import type { Running } from '../../../ops/rollcall.ts';

export const printWelcome = (
  { dataDir }: Config,
  { url, adminUrl, demo }: Pick<Running, 'url' | 'adminUrl' | 'demo'>,
): void => {
  const unseen = { version: '', stores: [], isTerminal: false };
  process.stdout.write(formatWelcome({ url, adminUrl, demo, dataDirectory: dataDir, ...unseen }));
};
