/**
 * The tests that the rows of test/faults/faults.jsonl name exist; docs/reference/faults.md is made of them.
 */
import { existsSync, readFileSync } from 'node:fs';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';

const test = suite('faults');
const text = readFileSync(new URL('../faults/faults.jsonl', import.meta.url), 'utf8');

test('every test of a row exists', () => {
  for (const line of text.trim().split('\n')) {
    const { tests } = JSON.parse(line) as { readonly tests: readonly string[] };
    const paths = tests.flatMap((name) => ['test', 'stores.test', 'fault'].map((end) => `${name}.${end}.ts`));
    const found = paths.filter((path) => existsSync(new URL(`../${path}`, import.meta.url)));
    assert.is(found.length, tests.length, tests.join());
  }
});

test.run();
