/**
 * `npm run bench -- compare A.json B.json`: says for every figure whether B is better, worse, or within
 * noise.
 *
 * Exit codes: 0 nothing is worse, 1 something is, 2 the two cannot be compared.
 */
import { readFileSync } from 'node:fs';
import { ArgumentError } from '../options.ts';
import { buildCompareTable, compareResults, findDifferences } from '../report/compare.ts';
import type { Result } from '../report/result.ts';
import { alignColumns } from '../report/table.ts';

const resultIn = (file: string): Result => {
  let result: Partial<Result>;
  try {
    result = JSON.parse(readFileSync(file, 'utf8')) as Partial<Result>;
  } catch (error) {
    throw new ArgumentError(`${file} cannot be read as a result: ${(error as Error).message}`);
  }
  if (result.version === 2 && Array.isArray(result.scenarios)) return result as Result;
  throw new ArgumentError(`${file} is not a result of this suite; write one with --json FILE.`);
};

/** Returns text for the terminal, and the exit code. Throws `ArgumentError`. */
export const runCompare = (
  files: readonly string[],
): { readonly text: string; readonly exitCode: number } => {
  const [before, after, more] = files;
  if (before === undefined || after === undefined || more !== undefined) {
    throw new ArgumentError('compare needs two files: npm run bench -- compare BEFORE.json AFTER.json');
  }
  const [old, now] = [resultIn(before), resultIn(after)];
  const differing = findDifferences(old, now);
  if (differing.length > 0) {
    return { text: `These two cannot be compared.\n${differing.join('\n')}`, exitCode: 2 };
  }
  const compared = compareResults(old, now);
  const worse = compared.filter(({ verdict }) => verdict === 'worse').length;
  const better = compared.filter(({ verdict }) => verdict === 'better').length;
  const noise = compared.length - worse - better;
  const sum = `${better} better, ${worse} worse, ${noise} within noise`;
  return { text: `${alignColumns(buildCompareTable(compared))}\n\n${sum}`, exitCode: worse > 0 ? 1 : 0 };
};
