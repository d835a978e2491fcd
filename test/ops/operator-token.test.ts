/**
 * The operator's token in the data folder: made once, and again when its file is empty.
 */
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { operatorTokenFile, readOperatorToken } from '../../ops/config/operator-token.ts';
import { makeFolder } from '../support/folder.ts';

const test = suite('operator-token');
const folder = makeFolder('rollcall-token-');
const file = join(folder, operatorTokenFile);

test('it is made once, for its owner alone', () => {
  const token = readOperatorToken(folder);

  assert.is(readOperatorToken(folder), token);
  assert.match(token, /^[\w-]{43}$/);
  assert.is(statSync(file).mode & 0o777, 0o600);
});

test('an empty file, as a full disk leaves it, is no token', () => {
  writeFileSync(file, '\n');

  const token = readOperatorToken(folder);

  assert.match(token, /^[\w-]{43}$/);
  assert.is(readFileSync(file, 'utf8'), `${token}\n`);
});

test.run();
