/**
 * The client for Python keeps every promise of docs/vectors.json. Needs Python; skipped without it.
 */
import { fileURLToPath } from 'node:url';
import * as assert from 'uvu/assert';
import { vectors } from '../../http/vectors/cases.ts';
import { listBroken, runClient } from '../../http/vectors/judge.ts';
import { createSuiteNeeding } from '../support/needing-suite.ts';
import { listPythons } from '../support/python-environment.ts';

const toPath = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const python = listPythons().at(-1) ?? '';
const test = createSuiteNeeding('vectors in Python', () => {
  if (python === '') throw new Error('there is no Python 3.9 or newer');
});

test('the client for Python keeps all promises', async () => {
  const packages = toPath('../../http/client-python');
  const program = toPath('vectors/python.py');
  const answers = await runClient(['env', `PYTHONPATH=${packages}`, python, program], vectors);

  assert.equal(listBroken(vectors, answers), []);
});

test.run();
