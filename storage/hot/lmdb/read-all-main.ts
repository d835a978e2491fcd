/**
 * Program: reads every value of the LMDB folder in its argument, and exits with 0 if that is possible. Where
 * the file was cut, the system ends it.
 */
import { open } from 'lmdb';

const root = open<unknown, string>({ path: process.argv[2] ?? '', readOnly: true, maxDbs: 16 });
for (const name of Array.from(root.getKeys())) {
  const table = root.openDB<Buffer, string>({ name, encoding: 'binary' });
  for (const { value } of table.getRange({})) if (value === undefined) process.exitCode = 1;
}
await root.close();
