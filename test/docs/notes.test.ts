/**
 * Every note (engine/tools/notes.ts) has a case: a test in which it comes, and one in which it is gone.
 */
import { globSync, readFileSync } from 'node:fs';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { noteSeverities } from '../../engine/tools/notes.ts';

const test = suite('notes');
const root = new URL('../../', import.meta.url).pathname;

test('for each note a test sees it come, and a test sees it go', () => {
  const tests = globSync('test/**/*.ts', { cwd: root }).map((file) => readFileSync(`${root}${file}`, 'utf8'));
  const named = (verb: RegExp): ReadonlySet<string> =>
    new Set(tests.flatMap((text) => [...text.matchAll(verb)].map(([, name]) => name ?? '')));
  const [coming, going] = [
    named(/(?:assert|until)Note\(\s*'(\w+)'/g),
    named(/(?:assert|until)NoNote\(\s*'(\w+)'/g),
  ];
  const names = Object.keys(noteSeverities);

  assert.equal(
    [names.filter((name) => !coming.has(name)), names.filter((name) => !going.has(name))],
    [[], []],
  );
});

test.run();
