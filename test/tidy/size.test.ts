/**
 * What counts as a code line in each language. Samples only: the figures of the project itself are for people
 * to read.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { countCodeLines } from './size.ts';

const test = suite('size');

const samples = [
  ['ts', '/** One. */\n/**\n * Two.\n */\n\nconst a = 1; // behind code\n// alone\na /* in */ = 2;\n', 2],
  ['lua', '-- a comment\nlocal a = 1 -- behind code\n\nreturn a\n', 2],
  ['sql', '-- a comment\nselect 1;\n', 1],
  ['py', '#!/usr/bin/env python\n"""A text."""\nprint(1)  # behind code\n', 2],
  ['css', '/* one */\n/* two\n   lines */\na {\n}\n', 2],
] as const;

for (const [language, text, lines] of samples)
  test(`of the ${language} sample ${lines} lines are code`, () => {
    assert.is(countCodeLines(text, language), lines);
  });

test.run();
