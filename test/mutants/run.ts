/**
 * `npm run test:mutants`: switches guards off, one at a time, and sees that a test notices each.
 *
 *   npm run test:mutants -- vote                   only mutants whose name or file contains "vote"
 *   npm run test:mutants -- --from 106 --count 30  30 of them, from the 106th of the list (patches.ts) on
 *
 * Works on copies of the tree in the temporary folder, never on the tree itself, two at a time. First all
 * tests concerned must pass unpatched, else their failure would prove nothing. A mutant is killed by a test
 * that fails, or that takes several times as long as unpatched; one that keeps its tests from starting proves
 * nothing and is reported.
 * Ends with `N killed, N survived`, non-zero when one survived or a patch no longer applies.
 */
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseOptions } from '../../ops/cli/options.ts';
import { shareCache, useMemoryFolder } from '../runner/cache.ts';
import { endRunning, type Outcome, runFile } from '../runner/test-process.ts';
import { applyPatch, listKillers, type Mutant } from './mutant.ts';
import { mutants } from './patches.ts';

const atOnce = 2;
const unpatchedSecondsMax = 300;
/** A test whose guard is off: so many times as long as before, and some seconds more, on a busy machine. */
const patience = { times: 5, moreSeconds: 20 };
const root = fileURLToPath(new URL('../../', import.meta.url));
const copied = ['engine', 'http', 'storage', 'ops', 'bench', 'test', 'package.json', 'tsconfig.json'];

interface Verdict {
  readonly killed: boolean;
  readonly words: string;
}

const main = async (): Promise<void> => {
  const chosen = choose();
  if (chosen.length === 0) throw new Error(`No mutant matches ${process.argv.slice(2).join(' ')}.`);
  useMemoryFolder();
  const trees = makeTrees();
  shareCache();
  const killers = [...new Set(chosen.flatMap(listKillers))];
  console.log(`${chosen.length} mutants; first their ${killers.length} test files as they are`);
  const seconds = await inTrees(trees, killers, timeUnpatched);
  if (seconds.includes(null)) throw new Error('Tests fail before any guard is off; nothing can be said.');
  const limits = new Map(killers.map((killer, index) => [killer, limitOf(seconds[index] ?? 0)]));
  const verdicts = await inTrees(trees, chosen, (tree, mutant) => tryMutant(tree, mutant, limits));
  const killed = verdicts.filter((verdict) => verdict.killed).length;
  for (const [index, { killed, words }] of verdicts.entries()) {
    if (!killed) console.log(`\nSurvived: ${chosen[index]?.name}: ${words}\n  ${chosen[index]?.why}`);
  }
  console.log(`\n${killed} killed, ${verdicts.length - killed} survived`);
  process.exitCode = killed === verdicts.length ? 0 : 1;
};

/** The mutants that the command line names. */
const choose = (): readonly Mutant[] => {
  const { values, positionals } = parseOptions(import.meta.filename, {
    options: {
      from: { type: 'string', default: '1' },
      count: { type: 'string', default: String(mutants.length) },
    },
    allowPositionals: true,
  });
  const from = Number(values.from) - 1;
  return mutants
    .filter(({ name, file }) => positionals.every((part) => name.includes(part) || file.includes(part)))
    .slice(from, from + Number(values.count));
};

/** Copies to work on, removed at the end. */
const makeTrees = (): readonly string[] => {
  const folder = mkdtempSync(join(tmpdir(), 'rollcall-mutants-'));
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  return Array.from({ length: atOnce }, (_, index) => {
    const tree = join(folder, `${index}`);
    mkdirSync(tree);
    for (const name of copied) cpSync(join(root, name), join(tree, name), { recursive: true });
    symlinkSync(join(root, 'node_modules'), join(tree, 'node_modules'));
    return tree;
  });
};

/** One task per item, one at a time in each tree. */
const inTrees = async <Given, Result>(
  trees: readonly string[],
  items: readonly Given[],
  task: (tree: string, item: Given) => Promise<Result>,
): Promise<readonly Result[]> => {
  const results: Result[] = [];
  const waiting = [...items.entries()];
  const worker = async (tree: string): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      results[next[0]] = await task(tree, next[1]);
    }
  };
  await Promise.all(trees.map(worker));
  return results;
};

/** Seconds that each killer may take. */
type Limits = ReadonlyMap<string, number>;

const limitOf = (seconds: number): number => seconds * patience.times + patience.moreSeconds;

/** Seconds of the test without a patch; `null` when it fails. */
const timeUnpatched = async (tree: string, killer: string): Promise<number | null> => {
  const { failures, problems, output, seconds } = await runFile(join(tree, killer), {
    seconds: unpatchedSecondsMax,
  });
  if (failures === 0) return seconds;
  console.log(`\n──── ${killer}\n${problems.join('\n')}\n${output}`);
  return null;
};

const tryMutant = async (tree: string, mutant: Mutant, limits: Limits): Promise<Verdict> => {
  const path = join(tree, mutant.file);
  const text = readFileSync(path, 'utf8');
  const startedMs = performance.now();
  let verdict: Verdict;
  try {
    writeFileSync(path, applyPatch(mutant, text));
    verdict = await findKiller(tree, mutant, limits);
  } catch (error) {
    verdict = { killed: false, words: error instanceof Error ? error.message : String(error) };
  } finally {
    writeFileSync(path, text);
  }
  const seconds = ((performance.now() - startedMs) / 1_000).toFixed(1);
  console.log(`${verdict.killed ? '✓' : '✘'} ${mutant.name}  ${seconds} s  ${verdict.words}`);
  return verdict;
};

const findKiller = async (tree: string, mutant: Mutant, limits: Limits): Promise<Verdict> => {
  for (const killer of listKillers(mutant)) {
    const seconds = limits.get(killer) ?? unpatchedSecondsMax;
    const outcome = await runFile(join(tree, killer), { seconds });
    if (outcome.failures > 0) return verdictOf(killer, outcome);
  }
  return { killed: false, words: `${listKillers(mutant).join(', ')} did not notice` };
};

const verdictOf = (killer: string, { output, counts, problems }: Outcome): Verdict => {
  const title = /^ {3}FAIL {2}.*? {2}"(.*)"$/m.exec(output)?.[1];
  if (title !== undefined) return { killed: true, words: `${killer}: ${title}` };
  const late = problems.some((problem) => problem.includes('time limit'));
  if (late || counts !== null) return { killed: true, words: `${killer}: ${problems[0] ?? 'failed'}` };
  return { killed: false, words: `${killer} did not run: ${output.slice(0, 500)}` };
};

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    endRunning();
    process.exit(130);
  });
}

await main();
