/**
 * Runs test files one after another. Those of `npm test` share a process, which saves each of them the second
 * until code is loaded and fast; every other file has its own.
 */
import { readFileSync } from 'node:fs';
import { findGroups } from './test-groups.ts';
import { type Limits, type Outcome, runFile, startTestProcess, type TestProcess } from './test-process.ts';

/** What its files leave in memory ends with a process. */
const filesPerProcess = 40;

export interface Worker {
  run(file: string): Promise<Outcome>;
  /** Resolves to what was wrong with shared processes after their tests. */
  end(): Promise<readonly string[]>;
}

interface Shared {
  readonly started: TestProcess;
  readonly files: string[];
}

/** `limitsOf` gives the limits of a file; those that share a process have the same. */
export const createWorker = (limitsOf: (file: string) => Limits): Worker => {
  const problems: string[] = [];
  let shared: Shared | null = null;
  const endShared = async (): Promise<void> => {
    const found = (await shared?.started.end()) ?? [];
    problems.push(...found.map((problem) => `${problem}\nIts files: ${shared?.files.join(', ')}`));
    shared = null;
  };
  return {
    run: async (file) => {
      if (!mayShare(file)) return runFile(file, limitsOf(file));
      if (shared !== null && !hasRoom(shared)) await endShared();
      shared ??= { started: startTestProcess(limitsOf(file)), files: [] };
      shared.files.push(file);
      return shared.started.run(file);
    },
    end: async () => {
      await endShared();
      return problems;
    },
  };
};

const hasRoom = ({ started, files }: Shared): boolean => started.isUsable() && files.length < filesPerProcess;

/** A file that changes its process for good says so in its header. */
const mayShare = (file: string): boolean =>
  findGroups(file).includes('loop') && !/own process/i.test(readFileSync(file, 'utf8').slice(0, 2_000));
