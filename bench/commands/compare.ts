/**
 * `compare BEFORE.json AFTER.json`: says for every figure of the suite or of `load` whether it is better,
 * worse, or within noise.
 *
 * Exit codes: 0 nothing is worse, 1 something is, 2 the two cannot be compared.
 */
import { readFileSync } from 'node:fs';
import { ArgumentError } from '../options.ts';
import {
  buildCompareTable,
  compareResults,
  findDifferences,
  type Result,
  type Verdict,
} from '../report/compare.ts';
import { alignColumns } from '../report/table.ts';

const readResult = (file: string): Result => {
  let result: Partial<Result>;
  try {
    result = JSON.parse(readFileSync(file, 'utf8')) as Partial<Result>;
  } catch (error) {
    throw new ArgumentError(`${file} cannot be read as a result: ${(error as Error).message}`);
  }
  if (result.version === 3 && Array.isArray(result.rows)) return result as Result;
  throw new ArgumentError(`${file} is not a result of this suite; write one with --json FILE.`);
};

/** Returns text for the terminal, and the exit code. Throws `ArgumentError`. */
export const runCompare = (
  files: readonly string[],
): { readonly text: string; readonly exitCode: number } => {
  const [before, after, more] = files;
  if (before === undefined || after === undefined || more !== undefined)
    throw new ArgumentError('compare needs two files: npm run bench -- compare BEFORE.json AFTER.json');
  const [old, now] = [readResult(before), readResult(after)];
  const differing = findDifferences(old, now);
  if (differing.length > 0)
    return { text: `These two cannot be compared.\n${differing.join('\n')}`, exitCode: 2 };
  const compared = compareResults(old, now);
  const countOf = (wanted: Verdict): number => compared.filter(({ verdict }) => verdict === wanted).length;
  const sum = `${countOf('better')} better, ${countOf('worse')} worse, ${countOf('noise')} within noise`;
  const text = `${alignColumns(buildCompareTable(compared))}\n\n${sum}`;
  return { text, exitCode: countOf('worse') > 0 ? 1 : 0 };
};

export const compare = {
  name: 'compare',
  operands: 'BEFORE.json AFTER.json',
  about: 'two results that --json wrote: better, worse or noise',
  run: async (words: readonly string[]): Promise<number> => {
    const { text, exitCode } = runCompare(words);
    console.log(text);
    return exitCode;
  },
};
