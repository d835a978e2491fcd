/**
 * The list of mutants follows the sources: every patch still applies, every killer exists. Whether the
 * killers kill is seen by `npm run test:mutants`.
 */
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { applyPatch, listKillers } from './mutant.ts';
import { mutants } from './patches.ts';

const test = suite('mutants');
const root = fileURLToPath(new URL('../../', import.meta.url));

for (const mutant of mutants) {
  test(`${mutant.name}: its patch applies to ${mutant.file}`, () => {
    const text = readFileSync(root + mutant.file, 'utf8');
    assert.is.not(applyPatch(mutant, text), text);
    for (const killer of listKillers(mutant)) assert.ok(existsSync(root + killer), killer);
  });
}

test('names are unique', () => {
  assert.is(new Set(mutants.map(({ name }) => name)).size, mutants.length);
});

test('a text that is missing, or occurs twice, is an error', () => {
  const mutant = { name: 'one', file: 'f', find: 'a', replace: 'b', why: '' };
  assert.is(applyPatch(mutant, 'cad'), 'cbd');
  assert.throws(() => applyPatch(mutant, 'bc'), /stands 0 times/);
  assert.throws(() => applyPatch(mutant, 'aa'), /stands 2 times/);
});

test.run();
