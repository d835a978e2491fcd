/**
 * The client for JavaScript keeps every promise of docs/vectors.json; each wrong answer is refused, and a
 * client that is wrong, silent or absent is found.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { vectors } from '../../http/vectors/cases.ts';
import { isRight, judge, listBroken, runClient } from '../../http/vectors/judge.ts';

const test = suite('vectors');
const toPath = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

test('docs/vectors.json has these cases (npm run document writes it)', () => {
  const kept = JSON.parse(readFileSync(toPath('../../docs/vectors.json'), 'utf8'));

  assert.equal(kept.cases, JSON.parse(JSON.stringify(vectors)));
  assert.ok(vectors.length >= 60);
  assert.is(new Set(vectors.map(({ id }) => id)).size, vectors.length);
});

test('each case has three wrong answers, all different, and none is taken', () => {
  for (const vector of vectors) {
    assert.is(new Set(vector.wrong.map((each) => JSON.stringify(each))).size, 3, vector.id);
    assert.ok(isRight(vector, JSON.parse(JSON.stringify(vector.answer))), vector.id);
    for (const wrong of vector.wrong) assert.not.ok(isRight(vector, wrong), vector.id);
    assert.is(listBroken([vector], [vector.wrong[0]]).length, 1);
  }
});

test('the client for JavaScript keeps all promises', async () => {
  const runner = toPath('../../ops/setup/run.mjs');
  const program = 'test/client/vectors/javascript.ts';
  const answers = await runClient([process.execPath, runner, program], vectors);

  assert.equal(listBroken(vectors, answers), []);
});

test('a client that answers nothing or nonsense breaks every promise; an absent one is said', async () => {
  assert.is(listBroken(vectors, await runClient(['true'], vectors)).length, vectors.length);
  assert.is(listBroken(vectors, await runClient(['cat'], vectors)).length, vectors.length);
  assert.is(await judge(['/nonexistent/client']), 2);
  assert.is(await judge([]), 2);
});

test.run();
