/**
 * Style as a test: the rules of the project that a tool can see, run over every source file before anything
 * else. Prints `file:line rule: what to do instead` for each finding and fails if there is one.
 *
 * The rules are in test/tidy/, each a pure function of the parsed project; test/tidy.test.ts shows each one a
 * sample it must refuse.
 */
import { fileURLToPath } from 'node:url';
import { dependencies, formerVersions, lockFile, migrations } from './tidy/documents.ts';
import { cycles, directions, fenced, unused } from './tidy/imports.ts';
import { retiredWords, typeNames, verbs } from './tidy/names.ts';
import { type Finding, parseProject, readFiles } from './tidy/project.ts';
import { order, twoWay } from './tidy/rooms.ts';
import { functions, headers, sizes } from './tidy/shape.ts';
import { assertions, suites } from './tidy/suites.ts';
import { testGroups } from './tidy/test-groups.ts';
import { banned, leftovers } from './tidy/words.ts';

const rules = [
  directions,
  fenced,
  cycles,
  unused,
  order,
  twoWay,
  sizes,
  functions,
  headers,
  banned,
  leftovers,
  retiredWords,
  verbs,
  typeNames,
  suites,
  assertions,
  testGroups,
  dependencies,
  lockFile,
  migrations,
  formerVersions,
];

/** All findings in `files` (text by path), in the order of files and lines. */
export const tidy = (files: ReadonlyMap<string, string>): Finding[] => {
  const project = parseProject(files);
  return rules
    .flatMap((rule) => rule(project))
    .sort((one, other) => one.file.localeCompare(other.file) || one.line - other.line);
};

if (import.meta.main) {
  const findings = tidy(readFiles(fileURLToPath(new URL('..', import.meta.url))));
  for (const { file, line, rule, advice } of findings) console.log(`${file}:${line} ${rule}: ${advice}`);
  process.exitCode = findings.length === 0 ? 0 : 1;
}
