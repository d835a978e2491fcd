/**
 * Files of other directories, read by a mapping: the sample of the documents, and files as they come.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { runCommandLine } from '../../../ops/cli/main.ts';
import { makeRecords, readMapping } from '../../../storage/import/mapping.ts';
import type { Stores } from '../../../storage/open.ts';
import { openTestStore } from '../../storage/import/store.ts';
import { runOnStreams } from './streams.ts';

const test = suite('an import by a mapping');

const store = await openTestStore();
test.after(() => store.close());
test.before.each(() => store.clear());

const run = (words: readonly string[]) =>
  runOnStreams((streams) =>
    runCommandLine(words, streams, (_terminal, _args, task) =>
      task({ stores: { sql: store.sql } as unknown as Stores }),
    ),
  );
const write = (name: string, content: string | Buffer): string => {
  const path = join(store.folder, name);
  writeFileSync(path, content);
  return path;
};
/** Imports a file by a mapping; `more` are options. */
const importBy = (mapping: object, name: string, content: string | Buffer, more: readonly string[] = []) =>
  run(['import', write(name, content), '--map', write('map.json', JSON.stringify(mapping)), ...more]);

const users = (fields: object = {}, more: object = {}) => ({
  ...more,
  records: [{ kind: 'user', fields: { id: 'id', username: 'name', ...fields } }],
});
const readUsers = async (): Promise<unknown[]> =>
  (await store.dump())
    .split('\n')
    .filter((line) => line.startsWith('{"kind":"user"'))
    .map((line) => {
      const { id, username } = JSON.parse(line);
      return { id, username };
    });

test('the sample of the documents prints what they say', async () => {
  const path = fileURLToPath(new URL('../../../docs/operators/import-mapping.md', import.meta.url));
  const [, table = '', mapping = '', printed = ''] = readFileSync(path, 'utf8')
    .split(/```[a-z]*\n/)
    .filter((_block, index) => index % 2 === 1 || index === 0);
  const file = write('bots.csv', table);
  const { out, code } = await run(['import', file, '--map', write('bots.map.json', mapping), '--dry-run']);

  assert.is(code, 1);
  assert.is(out, printed.split('\n').slice(1).join('\n'));
});

const table = 'id,name\n1,Ann\n2,"Bo\nB, ""x"""\n';
const ann = { id: '1', username: 'Ann' };
const bo = { id: '2', username: 'Bo\nB, "x"' };
const utf16 = (text: string): Buffer => Buffer.from(`\uFEFF${text}`, 'utf16le');

test('tables come with any line end, mark, separator and encoding, packed or not', async () => {
  const cases: readonly (readonly [name: string, content: string | Buffer, more?: object])[] = [
    ['a.csv', table],
    ['b.csv', table.trimEnd()],
    ['c.csv', `\uFEFF${table}`],
    ['d.txt', table.replaceAll('\n', '\r\n')],
    ['e.csv', table.replaceAll('\n', '\n\n').replace('Bo\n\n', 'Bo\n')],
    ['f.tsv', table.replace('id,name', 'id\tname').replace('1,', '1\t').replace('2,"', '2\t"')],
    ['g.data', table.replaceAll(/(?<=id|1|2),/g, ';'), { format: 'csv', separator: ';' }],
    ['h.csv', utf16(table), { encoding: 'utf-16le' }],
    ['i.csv', utf16(table).swap16(), { encoding: 'utf-16be' }],
    ['j.csv.gz', gzipSync(table)],
    ['k.json', JSON.stringify([ann, bo].map(({ id, username }) => ({ id, name: username })))],
    ['l.jsonl', '{"id":"1","name":"Ann"}\n\n{"id":"2",\n "name":"Bo\\nB, \\"x\\""}\n'],
    [
      'm.json.gz',
      gzipSync('[ {"id":1,"name":"Ann"} , {"id":"2","name":"Bo\\nB, \\"x\\"","deep":[{"a":"]}"}]}]'),
    ],
  ];
  for (const [name, content, more] of cases) {
    await store.clear();
    // A name has one line: `words` replaces what has two.
    const words = { 'Bo\nB, "x"': 'Bo', 'Bo\r\nB, "x"': 'Bo' };
    const { code, err } = await importBy(users({ username: { column: 'name', words } }, more), name, content);
    assert.equal([code, err], [0, ''], name);
    assert.equal(await readUsers(), [ann, { id: '2', username: 'Bo' }], name);
  }
});

test('Latin-1 is read when it is named, and a wrong encoding is refused by name', async () => {
  const latin = Buffer.from('id,name\n1,Zo\xeb \x80\n', 'latin1');
  const named = await importBy(users({}, { encoding: 'latin1' }), 'a.csv', latin);
  const refused = [
    await importBy(users(), 'a.csv', latin),
    await importBy(users(), 'a.csv', utf16(table)),
    await importBy(users(), 'a.csv', Buffer.from(table, 'utf16le')),
    await importBy(users({}, { encoding: 'utf-16le' }), 'a.csv', Buffer.from('id,name\n1,abc')),
  ];

  assert.equal([named.code, named.err], [0, '']);
  assert.equal(await readUsers(), [{ id: '1', username: 'Zoë €' }]);
  assert.equal(
    refused.map(({ code }) => code),
    [1, 1, 1, 1],
  );
  assert.match(
    String(refused[0]?.err),
    /a\.csv: The file is not utf-8\. It looks like latin1: write "encoding": "latin1"/,
  );
  for (const index of [1, 2])
    assert.match(String(refused[index]?.err), /not utf-8\. It looks like utf-16le: write/);
});

test('ids beyond 2^53 are exact, numbers of ids are text, and every conversion reads its forms', async () => {
  const rows = `{"id":9007199254740993,"name":12,"made":"1600000000","ok":"Yes"}
    {"id":18446744073709551557,"name":"B","made":1600000000.5,"ok":0}
    {"id":123456789012345,"name":" ","made":null,"alias":"C"}`;
  const created = { column: 'made', as: 'seconds' };
  const fields = { created_at: created, banned: 'ok', username: { column: 'name', value: 'none' } };
  const { code, err } = await importBy(users(fields), 'a.json', rows);
  const found = (await store.sql`select id, username, banned, created_at from users order by length(id)`).map(
    (user) => [user.id, user.username, user.banned, user.created_at.toISOString()],
  );
  assert.equal([code, err], [0, '']);
  assert.equal(found.slice(1), [
    ['9007199254740993', '12', true, '2020-09-13T12:26:40.000Z'],
    ['18446744073709551557', 'B', false, '2020-09-13T12:26:40.500Z'],
  ]);
  assert.equal(found[0]?.slice(0, 3), ['123456789012345', 'none', false]);

  const mapping = readMapping(JSON.stringify(users({ created_at: 'at' })), 'map');
  const read = (at: string): unknown =>
    (makeRecords(mapping, { at })[0] as { created_at: unknown }).created_at;
  assert.equal(
    ['2020-09-13', '2020-09-13 12:26', '2020-09-13T12:26:40.25+02:00', '2020-02-30', 'soon'].map(read),
    [
      ...['2020-09-13T00:00:00.000Z', '2020-09-13T12:26:00.000Z', '2020-09-13T10:26:40.250Z'],
      ...['2020-02-30', 'soon'],
    ],
  );
});

test('a bad row has its number, its field and its column; the others come with --skip-bad', async () => {
  const rows = 'id,name,made\n1,Ann,x\n2,Bo,2020-01-01,too,much\n3,Cy\n?,Di,\n';
  const mapping = users({ created_at: 'made' });
  const stopped = await importBy(mapping, 'bad.csv', rows);
  const skipped = await importBy(mapping, 'bad.csv', rows, ['--skip-bad']);
  const again = await importBy(mapping, 'bad.csv', rows, ['--skip-bad', '--json']);
  const rejected = readFileSync(join(store.folder, 'bad.csv.rejected'), 'utf8');

  assert.is(stopped.code, 1);
  assert.match(stopped.err, /row 2: created_at must be a UTC time .*\(column "made", read as iso\)/);
  assert.match(stopped.err, /row 3: has 5 cells, and the first row names 3/);
  assert.match(stopped.err, /row 5: id must be .*\(column "id", read as text\)/);
  assert.equal([skipped.code, await readUsers()], [0, [{ id: '3', username: 'Cy' }]]);
  assert.match(rejected, /^# line 2: row 2: created_at .*\n\{"kind":"user","id":"1"/);
  assert.is(JSON.parse(again.out).skipped, 1);
});

test('what ends the reading is said with the row and what to do', async () => {
  const huge = 'x'.repeat(2 * 1024 * 1024 + 10);
  const cases: readonly (readonly [name: string, content: string, words: RegExp])[] = [
    ['a.csv', 'id,name\n1,"Ann\n2,Bo\n', /Row 2 has a quote that is not closed\. Correct the file/],
    ['a.csv', 'id,name\n1,A"nn\n', /Row 2 has a quote in a cell that does not begin with one/],
    ['a.csv', 'id,name\n1,"A"nn\n', /Row 2 has text after a closing quote/],
    ['a.csv', `id,name\n1,Ann\n2,${huge}\n`, /Row 3 has more than 2097152 characters/],
    ['a.csv', 'id,id\n1,2\n', /two columns of the name "id"/],
    ['a.csv', 'number;label\n1;Ann\n', /The file has no column id, name\. It has number;label/],
    ['a.json', `[{"id":"1","name":"${huge}"}]`, /Row 1 has more than 2097152 characters/],
    ['a.json', '[{"id":"1","name":"Ann"},{"id":', /Row 2 does not end: the file was cut off/],
    ['a.json', 'id,name\n1,Ann\n', /Before row 1 stands "id,name.*For a table write "format": "csv"/],
    ['a.json', '{"id":"1","name":Ann}', /row 1: is not valid JSON/],
  ];
  for (const [name, content, words] of cases) {
    const { code, err } = await importBy(users(), name, content);
    assert.is(code, 1, content.slice(0, 50));
    assert.match(err, words);
  }
  assert.equal(await readUsers(), []);
});

test('a mapping with a mistake is refused with the place and what there is', async () => {
  const cases: readonly (readonly [mapping: unknown, words: RegExp])[] = [
    [{}, /map\.json: it must have required properties records/],
    [{ records: [] }, /records must not have fewer than 1 items/],
    [
      { records: [{ kind: 'bots', fields: {} }] },
      /records\/0\/kind must be equal to one of the allowed values: user, team/,
    ],
    [
      { records: [{ kind: 'user', fields: { name: 'a' } }] },
      /a user has no field "name"\. It has id, username/,
    ],
    [{ records: [{ kind: 'user', fields: { id: {} } }] }, /"id" needs a column or a value/],
    [
      { records: [{ kind: 'user', fields: { id: { column: 'a', as: 'date' } } }] },
      /as must be .*: text, number/,
    ],
    [{ records: [{ kind: 'user', fields: { 'extra_data.__proto__': 'a' } }] }, /is no field of a user/],
    [users({}, { encoding: 'utf-7' }), /encoding must be .*: utf-8, latin1/],
  ];
  for (const [mapping, words] of cases) {
    const { code, err } = await importBy(mapping as object, 'a.csv', table);
    assert.is(code, 1);
    assert.match(err, words);
  }
  const missing = await run(['import', write('a.csv', table), '--map', join(store.folder, 'none')]);
  assert.match(missing.err, /The mapping .*none cannot be read \(ENOENT\)/);
});

test.run();
