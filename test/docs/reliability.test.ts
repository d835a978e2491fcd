/**
 * The tables of docs/reliability.md are those of test/faults/figures.jsonl, and the tests they name exist.
 */
import { existsSync, readFileSync } from 'node:fs';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { parseFigures, type Row, refresh, writeTables } from '../faults/harness/table.ts';

const test = suite('tables of reliability');
const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
const rows = read('test/faults/figures.jsonl')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as Row);

test('the document has the generated tables: run `npm run test:figures` after an edit', () => {
  const document = read('docs/reliability.md');

  assert.is(writeTables(document, rows), document, 'the tables differ from figures.jsonl');
});

test('every test of a row exists', () => {
  for (const row of rows) {
    if (!('fault' in row)) continue;
    const paths = row.tests.flatMap((name) =>
      ['test', 'stores.test', 'fault'].map((end) => `${name}.${end}.ts`),
    );
    const found = paths.filter((path) => existsSync(new URL(`../${path}`, import.meta.url)));
    assert.is(found.length, row.tests.length, row.tests.join());
  }
});

test('a run replaces the figures of the rows whose cases it had, and of no others', () => {
  const row = { fault: 'f', promise: 'p', tests: [], names: ['one', 'two'], figure: 'old' };
  const line =
    '  figures: {"name":"one","acked":1234,"lost":0,"rounds":3,"seconds":9,"silenceSecondsMax":0.5}';

  assert.equal(refresh(row, parseFigures(line)), row);
  const expected = '3 rounds: acked 1,234, lost 0; 0.5 s without an acknowledged change';
  assert.equal(refresh({ ...row, names: ['one'] }, parseFigures(line)), {
    ...row,
    names: ['one'],
    figure: expected,
  });
  const attack = { attack: 'bodies', cells: ['1 ms'] };
  assert.equal(refresh(attack, parseFigures('figures: {"name":"attack: bodies","cells":["2 ms"]}')), {
    attack: 'bodies',
    cells: ['2 ms'],
  });
});

test.run();
