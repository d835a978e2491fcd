/**
 * Opens the stores of a folder and prints why it cannot; as root, for another user.
 *
 * That user need not reach the code or the folder: before the process becomes theirs it has loaded what an
 * opening loads, and entered the folder.
 */
import { chownSync } from 'node:fs';
import { findUnprivilegedUser } from '../../../bench/shared/unprivileged-user.ts';
import { startSqlThread } from '../../../storage/embedded/sql-thread.ts';
import { openStores } from '../../../storage/open.ts';

const [rehearsal = '', folder = ''] = process.argv.slice(2);
const open = (dataDir: string) =>
  openStores({ dataDir, redisUrl: [], databaseUrl: '' }, { clock: Date.now, onWarning: () => {}, sqlThread });

let sqlThread = startSqlThread();
const loaded = await open(rehearsal);
sqlThread = startSqlThread();
await loaded.close();

const user = findUnprivilegedUser('a test');
process.chdir(folder);
process.env.TMPDIR = '.';
if (user !== null) {
  chownSync('.', user.uid, user.gid);
  process.setgroups?.([]);
  process.setgid?.(user.gid);
  process.setuid?.(user.uid);
}
await open('.').then(
  ({ close }) => close(),
  (error: Error) => console.log(error.message),
);
// The thread may wait for a folder to open.
process.exit();
