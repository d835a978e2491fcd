/**
 * The journal of the embedded hot store: what is cut, what is damage, and what a failed write or sync does.
 * Real folders; the bytes are changed on the disk while the journal is closed.
 */
import {
  closeSync,
  cpSync,
  existsSync,
  fdatasync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { StorageError } from '../../../engine/errors.ts';
import {
  addRecord,
  beginFile,
  endJournal,
  type Journal,
  openJournal,
} from '../../../storage/hot/lmdb/journal.ts';
import { removeApplied } from '../../../storage/hot/lmdb/journal-files.ts';
import { headerBytes, type RecordBuffer } from '../../../storage/hot/lmdb/journal-records.ts';
import { makeFolder } from '../../support/folder.ts';
import { rejection } from '../../support/redis-load.ts';

const test = suite('the journal of the embedded hot store');

const seed = 77;
const sync = promisify(fdatasync);

/** A record with a text, which ends with a byte that no single changed bit makes zero. */
const toRecord = (text: string): RecordBuffer => {
  const buffer = Buffer.alloc(headerBytes + text.length + 1, 0xc3);
  buffer.write(text, headerBytes, 'latin1');
  return Object.assign(buffer, { start: 0, end: buffer.length }) as RecordBuffer;
};

interface Options {
  readonly applied?: number | null;
  readonly seed?: number;
  readonly sync?: (file: number) => Promise<void>;
}
const open = (folder: string, options: Options = {}): Journal & { readonly texts: readonly string[] } => {
  const texts: string[] = [];
  const journal = openJournal({ folder, seed, applied: null, sync, ...options }, (content) =>
    texts.push(content.toString('latin1', 0, content.length - 1)),
  );
  return Object.assign(journal, { texts });
};

const words = ['one', 'two', 'three '.repeat(200), 'four', 'five'];

/** A closed journal with these records, and so many zeros behind them. */
const fillFile = async (records: readonly string[], zeros = 0): Promise<string> => {
  const folder = join(makeFolder('rollcall-journal-'), 'journal');
  const journal = open(folder);
  for (const record of records) await addRecord(journal, 'commit', toRecord(record));
  await endJournal(journal);
  for (const bytes of [journal.bytes, journal.bytes + zeros]) truncateSync(join(folder, '1.log'), bytes);
  return folder;
};
/** The same with three records in one file, two in the next. */
const fillFolder = async (zeros = 0): Promise<string> => {
  const folder = join(makeFolder('rollcall-journal-'), 'journal');
  const journal = open(folder);
  for (const [index, word] of words.entries()) {
    if (index === 3) {
      await journal.filling;
      const { bytes } = journal;
      beginFile(journal);
      truncateSync(join(folder, '1.log'), bytes);
    }
    await addRecord(journal, 'commit', toRecord(word));
  }
  await endJournal(journal);
  for (const bytes of [journal.bytes, journal.bytes + zeros]) truncateSync(join(folder, '4.log'), bytes);
  return folder;
};
/** Its records: all, or what the failure says. */
const read = (folder: string, options: Options = {}): readonly string[] | string => {
  try {
    const journal = open(folder, { applied: 0, ...options });
    closeSync(journal.file);
    return journal.texts;
  } catch (error) {
    assert.is((error as StorageError).reason, 'damaged', String(error));
    return String(error);
  }
};
const assertDescribed = (result: readonly string[] | string, what: RegExp): void => {
  assert.type(result, 'string', `${result} instead of damage`);
  assert.match(result as string, what);
  assert.match(result as string, /move .* away and start it again/);
};

test('what was appended is read again, in order, without what the tables have', async () => {
  const folder = await fillFolder();

  assert.equal(readdirSync(folder), ['1.log', '4.log']);
  assert.equal(read(folder), words);
  assert.equal(read(folder, { applied: 2 }), words.slice(2));
  assert.equal(read(folder, { applied: 3 }), words.slice(3));
  assert.equal(readdirSync(folder), ['4.log'], 'a file that is in the tables is gone');
  assert.equal(read(folder, { applied: 5 }), []);
});

const testFlips = async (zeros: number): Promise<void> => {
  const folder = await fillFolder(zeros);
  for (const name of ['1.log', '4.log']) {
    const file = join(folder, name);
    const bytes = readFileSync(file);
    for (let at = 0; at < bytes.length - (name === '4.log' ? zeros : 0); at++) {
      const flipped = Buffer.from(bytes);
      flipped[at] = (bytes[at] ?? 0) ^ (1 << (at % 8));
      writeFileSync(file, flipped);
      assertDescribed(read(folder), /record \d in journal\/\d\.log/);
    }
    writeFileSync(file, bytes);
  }
  assert.equal(read(folder), words, 'and nothing was changed');
};

test('a flipped bit of any byte of any record is damage, the last one included', () => testFlips(0));

test('a flipped bit of any record is damage also with zeros behind the last record', () => testFlips(3_000));

test('a flipped bit in the zeros costs nothing', async () => {
  const folder = await fillFolder(2_000);
  const file = join(folder, '4.log');
  const bytes = readFileSync(file);
  for (let at = bytes.length - 2_000; at < bytes.length; at++) {
    const flipped = Buffer.from(bytes);
    flipped[at] = 1 << (at % 8);
    writeFileSync(file, flipped);
    assert.equal(read(folder), words, `${at}`);
  }
});

test('a record that was not written whole is cut off, and the next one follows', async () => {
  const folder = await fillFolder();
  const file = join(folder, '4.log');
  const bytes = readFileSync(file);
  const first = headerBytes + 'four'.length + 1;
  for (let length = 0; length < bytes.length; length++) {
    writeFileSync(file, bytes.subarray(0, length));
    assert.equal(read(folder), words.slice(0, length < first ? 3 : 4), `${length} bytes`);
    if (length > 0) assert.is(readFileSync(file).length, length < first ? 0 : first);
    else assert.not(existsSync(file), 'an empty file is begun again later');
  }
  const journal = open(folder, { applied: 0 });
  await addRecord(journal, 'commit', toRecord('again'));
  await endJournal(journal);
  assert.equal(read(folder), [...words.slice(0, 4), 'again']);
});

test('a record with a sector that reads as zeros was not written whole', async () => {
  const folder = await fillFile(['one', 'two'.repeat(500)]);
  const file = join(folder, '1.log');
  const bytes = readFileSync(file);
  const start = headerBytes + 'one'.length + 1;
  for (const [from, to] of [[1_024], [512], [start + 4], [512, 1_024], [start, 512]]) {
    writeFileSync(file, Buffer.from(bytes).fill(0, from, to));
    assert.equal(read(folder), ['one'], `zeros from ${from} to ${to}`);
  }
});

test('a record that overwrote zeros is cut off, whichever of its sectors were never written', async () => {
  // Headers at all places around the border of a sector.
  for (let length = 512 - 3 * headerBytes; length <= 512 - headerBytes; length++) {
    const folder = await fillFile(['x'.repeat(length), 'two'.repeat(250)], 5_000);
    const file = join(folder, '1.log');
    const bytes = readFileSync(file);
    const start = headerBytes + length + 1;
    const sectors = [0, 512, 1_024].map((sector) => [Math.max(start, sector), sector + 512] as const);
    for (let missing = 1; missing < 2 ** sectors.length; missing++) {
      const torn = Buffer.from(bytes);
      for (const [index, [from, to]] of sectors.entries())
        if ((missing & (1 << index)) !== 0) torn.fill(0, from, to);
      if (torn.equals(bytes)) continue;
      writeFileSync(file, torn);
      assert.equal(read(folder), ['x'.repeat(length)], `${length} bytes, without ${missing}`);
      const isMissing = torn.subarray(start).every((byte) => byte === 0);
      assert.is(statSync(file).size, isMissing ? bytes.length : start);
    }
  }
});

test('a sector that reads as zeros is damage where another record follows', async () => {
  const folder = await fillFile(['one', 'two'.repeat(500), 'three'], 2_000);
  const file = join(folder, '1.log');
  const bytes = readFileSync(file);
  for (const [from, to] of [
    [0, 512],
    [512, 1_024],
    [1_024, 1_536],
  ]) {
    writeFileSync(file, Buffer.from(bytes).fill(0, from, to));
    assertDescribed(read(folder), from === 0 ? /record 1 in/ : /record 2 in/);
  }
});

test('a record in zeros that was written in part is cut off, and the next one follows', async () => {
  const folder = await fillFile(['one', 'two'], 1_500);
  const file = join(folder, '1.log');
  const bytes = readFileSync(file);
  const first = toRecord('one').length;
  for (let length = 0; length < bytes.length - 1_500; length++) {
    const rest = length < first ? [] : ['one'];
    writeFileSync(file, Buffer.from(bytes).fill(0, length));
    assert.equal(read(folder), rest, `${length} bytes`);
    const journal = open(folder, { applied: 0 });
    await addRecord(journal, 'commit', toRecord('again'));
    await endJournal(journal);
    assert.equal(read(folder), [...rest, 'again'], `${length} bytes`);
  }
});

test('records overwrite zeros that are on disk, and the file does not grow', async () => {
  const folder = await fillFile(['one']);
  const file = join(folder, '1.log');
  const journal = open(folder, { applied: 0 });
  await addRecord(journal, 'commit', toRecord('two'));
  await journal.filling;
  const { size } = statSync(file);
  for (let index = 0; index < 50; index++) await addRecord(journal, 'commit', toRecord('three'));
  await endJournal(journal);
  const again = open(folder, { applied: 0 });
  await addRecord(again, 'commit', toRecord('four'));
  const { filling } = again;
  await endJournal(again);

  assert.ok(size > 50 * toRecord('three').length);
  assert.is(statSync(file).size, size);
  assert.is(filling, null, 'a start uses the zeros that are there');
  assert.equal(read(folder), ['one', 'two', ...Array(50).fill('three'), 'four']);
});

test('zeros never overwrite a record, however fast and large records come', async () => {
  const folder = await fillFile(['one']);
  const journal = open(folder, { applied: 0, sync: async () => {} });
  const long = 'long '.repeat(70_000);
  const all = ['one'];
  for (let index = 0; index < 40; index++) {
    const next = index % 5 === 0 ? long : `${index} `.repeat(index * 300);
    await addRecord(journal, 'commit', toRecord(next));
    all.push(next);
  }
  await endJournal(journal);

  assert.equal(read(folder), all);
});

test('where zeros cannot be written, the file grows with its records', async () => {
  const folder = await fillFolder();
  const journal = open(folder, { applied: 0 });
  journal.path = join(folder, 'none', '4.log');
  for (let index = 0; index < 5; index++) {
    await addRecord(journal, 'commit', toRecord('more'));
    await journal.filling;
  }
  await endJournal(journal);

  assert.is(statSync(join(folder, '4.log')).size, journal.bytes);
  assert.equal(read(folder), [...words, ...Array(5).fill('more')]);
});

test('a file that another follows may end with zeros', async () => {
  const folder = await fillFile(['one']);
  const journal = open(folder, { applied: 0 });
  await addRecord(journal, 'commit', toRecord('two'));
  await journal.filling;
  const { bytes } = journal;
  beginFile(journal);
  await addRecord(journal, 'commit', toRecord('three'));
  await endJournal(journal);

  assert.ok(statSync(join(folder, '1.log')).size > bytes);
  assert.ok(statSync(join(folder, '3.log')).size > journal.bytes);
  assert.equal(read(folder), ['one', 'two', 'three']);
  assert.equal(read(folder, { applied: 2 }), ['three']);
});

test('zeros behind a damaged record do not make it a torn one', async () => {
  const folder = await fillFile(['one', 'two', 'three'.repeat(200)]);
  const file = join(folder, '1.log');
  const bytes = readFileSync(file);
  for (let at = 0; at < 2 * (headerBytes + 4); at++) {
    const flipped = Buffer.from(bytes).fill(0, 512);
    flipped[at] = (bytes[at] ?? 0) ^ 4;
    writeFileSync(file, flipped);
    assertDescribed(read(folder), at < headerBytes + 4 ? /record 1 in/ : /record 2 in/);
  }
});

test('an empty journal file without a record is removed, and the journal goes on', async () => {
  const folder = await fillFolder();
  writeFileSync(join(folder, '5.log'), '');

  assert.equal(read(folder), words);
  assert.equal(readdirSync(folder), ['1.log', '4.log']);
});

test('a file that was cut in the middle, or is missing, is damage', async () => {
  const folder = await fillFolder();
  const copy = (): string => {
    const other = join(makeFolder('rollcall-journal-'), 'journal');
    cpSync(folder, other, { recursive: true });
    return other;
  };
  const [cut, first, newest, all, emptied] = [copy(), copy(), copy(), copy(), copy()];
  truncateSync(join(cut, '1.log'), 30);
  rmSync(join(first, '1.log'));
  rmSync(join(newest, '4.log'));
  rmSync(all, { recursive: true });
  truncateSync(join(emptied, '4.log'), 0);

  assertDescribed(read(cut), /record 2 in journal\/1\.log/);
  assertDescribed(read(first), /record 1 in journal\/ is missing/);
  assertDescribed(read(newest, { applied: 4 }), /record 4 in journal\/ is missing/);
  assertDescribed(read(all), /journal\/ is missing/);
  assertDescribed(read(emptied, { applied: 4 }), /record 4 in journal\/ is missing/);
});

test('the journal of another store is damage', async () => {
  const folder = await fillFolder();

  assertDescribed(read(folder, { seed: seed + 1 }), /record 1 in journal\/1\.log/);
  assertDescribed(read(folder, { applied: null, seed: seed + 1 }), /record 1 in journal\/1\.log/);
});

test('a failed append leaves nothing: what it wrote is cut off before the next one', async () => {
  const folder = await fillFolder();
  const journal = open(folder, { applied: 0 });
  const { file } = journal;
  // Zeros would overwrite what is left behind the next record; a crash may come before them.
  journal.zerosFailed = true;
  journal.file = openSync(join(folder, '4.log'), 'r');
  const failure = await rejection(addRecord(journal, 'commit', toRecord('lost')));
  // A disk may have taken a part of it, which reaches beyond the next record.
  const next = toRecord('six');
  const part = Buffer.alloc(next.length + 64, 1);
  writeSync(file, part, 0, part.length, journal.bytes);
  closeSync(journal.file);
  journal.file = file;
  const sequence = await addRecord(journal, 'commit', next).then(() => journal.sequence);
  await endJournal(journal);

  assert.is(failure.outcome, 'not_applied');
  assert.is(sequence, 6);
  assert.equal(read(folder), [...words, 'six']);
});

test('a failed sync loses the journal, and a later start does not find its record', async () => {
  const folder = await fillFolder();
  const journal = open(folder, { applied: 0, sync: () => Promise.reject(new Error('EIO')) });
  const failure = await rejection(addRecord(journal, 'commit', toRecord('lost')));
  await endJournal(journal);

  assert.equal([failure.outcome, journal.lost], ['unknown', true]);
  assert.equal(read(folder), words);
});

test('no file is begun behind half a record, and an empty one is used again', async () => {
  const folder = await fillFolder();
  const journal = open(folder, { applied: 0 });
  beginFile(journal);
  beginFile(journal);
  removeApplied(journal.folder, 5);
  await endJournal(journal);

  assert.equal(readdirSync(folder), ['6.log']);
  assert.equal(read(folder, { applied: 5 }), []);
  renameSync(join(folder, '6.log'), join(folder, '7.log'));
  assertDescribed(read(folder, { applied: 5 }), /record 6 in journal\/ is missing/);
});

test.run();
