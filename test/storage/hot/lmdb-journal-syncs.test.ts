/**
 * The order in which the journal of the embedded hot store changes and syncs its files and folders: after a
 * power cut only what was synced is certain.
 *
 * Own process: it replaces functions of `node:fs`.
 */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { basename, join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { addRecord, beginFile, endJournal, openJournal } from '../../../storage/hot/lmdb/journal.ts';
import { removeApplied } from '../../../storage/hot/lmdb/journal-files.ts';
import { headerBytes, type RecordBuffer } from '../../../storage/hot/lmdb/journal-records.ts';
import { makeFolder } from '../../support/folder.ts';

const test = suite('syncs of the journal');

const original = { ...fs };
const replaced = fs as unknown as Record<string, unknown>;
const events: string[] = [];
const names = new Map<number, string>();
const note = (verb: string, file: number): number => events.push(`${verb} ${names.get(file)}`);

const replaceFunctions = (): void => {
  replaced.mkdirSync = (path: string, options: never) => {
    events.push(`make ${basename(path)}`);
    return original.mkdirSync(path, options);
  };
  replaced.openSync = (path: string, flags: never, mode: never) => {
    if (!original.existsSync(path)) events.push(`make ${basename(path)}`);
    const file = original.openSync(path, flags, mode);
    names.set(file, basename(path));
    return file;
  };
  replaced.writeSync = (file: number, ...rest: [Buffer, number, number]) => {
    note('write', file);
    return original.writeSync(file, ...rest);
  };
  replaced.fdatasyncSync = (file: number) => note('sync', file);
  replaced.rmSync = (path: string) => {
    events.push(`remove ${basename(path)}`);
    original.rmSync(path);
  };
  syncBuiltinESMExports();
};

const restoreFunctions = (): void => {
  for (const name of ['mkdirSync', 'openSync', 'writeSync', 'fdatasyncSync', 'rmSync'] as const)
    replaced[name] = original[name];
  syncBuiltinESMExports();
};

const sync = async (file: number): Promise<void> => {
  note('sync', file);
};
const createRecord = (): RecordBuffer => {
  const buffer = Buffer.alloc(headerBytes + 9, 1);
  return Object.assign(buffer, { start: 0, end: buffer.length }) as RecordBuffer;
};

test('a name is synced before the first record behind it, and a record before anything follows', async () => {
  const folder = join(makeFolder('data-'), 'hot', 'journal');
  const [data] = folder.split('/').slice(-3);
  original.mkdirSync(join(folder, '..'));
  replaceFunctions();
  const journal = openJournal({ folder, seed: 1, applied: null, sync }, () => {});
  const opened = events.splice(0);
  await addRecord(journal, 'commit', createRecord());
  await addRecord(journal, 'commit', createRecord());
  const added = events.splice(0);
  beginFile(journal);
  await addRecord(journal, 'commit', createRecord());
  removeApplied(journal.folder, 2);
  const begun = events.splice(0);
  await endJournal(journal);
  const again = openJournal({ folder, seed: 1, applied: 2, sync }, () => events.push('use a record'));
  await endJournal(again);
  restoreFunctions();

  assert.equal(opened, [
    ...['make journal', 'make 1.log', 'sync journal', 'sync hot', `sync ${data}`],
    ...['sync 1.log', 'sync journal'],
  ]);
  assert.equal(added, ['write 1.log', 'sync 1.log', 'write 1.log', 'sync 1.log']);
  assert.equal(begun, ['make 3.log', 'sync journal', 'write 3.log', 'sync 3.log', 'remove 1.log']);
  assert.equal(events, ['use a record', 'sync 3.log', 'sync journal']);
});

test.run();
