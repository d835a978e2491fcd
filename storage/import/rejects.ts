/**
 * The file of rejected lines: each line unchanged, under a comment with its number and the reason.
 *
 * Written before the batch's progress is committed, so a kill loses no rejected line. The next run removes
 * entries beyond the committed progress and finds them again. The file can be corrected and imported itself.
 */
import { appendFileSync, existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import type { BadLine } from './lines.ts';

const heading = /^# line (\d+): /;

/** Opens the file and keeps the entries up to line `linesDone`; 0 starts an empty file. */
export const openRejects = (path: string, linesDone: number) => {
  if (linesDone === 0) rmSync(path, { force: true });
  else if (existsSync(path)) keepUpTo(path, linesDone);
  return {
    path,
    add(lines: readonly BadLine[]) {
      if (lines.length > 0)
        appendFileSync(path, lines.map(formatEntry).join(''), { mode: 0o600, flush: true });
    },
  };
};
export type Rejects = ReturnType<typeof openRejects>;

const formatEntry = ({ line, text, reason }: BadLine): string =>
  `# line ${line}: ${reason.replaceAll('\n', ' ')}\n${text === '' ? '' : `${text}\n`}`;

const keepUpTo = (path: string, linesDone: number): void => {
  const entries = readFileSync(path, 'utf8').split(/^(?=# line \d+: )/m);
  const earlier = entries.filter((entry) => Number(heading.exec(entry)?.[1] ?? 0) <= linesDone);
  writeFileSync(`${path}.new`, earlier.join(''), { mode: 0o600 });
  renameSync(`${path}.new`, path);
};
