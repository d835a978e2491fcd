/**
 * The operator's command line as a process of its own. Called by tests.
 */
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { quiet } from './node-process.ts';

const program = fileURLToPath(new URL('../../ops/cli/main.ts', import.meta.url));

/** Runs one command on a data folder. Resolves to its exit code and all it wrote. */
export const runOps = (
  dataDir: string,
  ...words: readonly string[]
): Promise<{ readonly code: number | null; readonly output: string }> => {
  const child = spawn(process.execPath, [...process.execArgv, program, ...words], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...quiet, DATA_DIR: dataDir },
  });
  let output = '';
  const take = (chunk: Buffer): void => {
    output += chunk.toString();
  };
  child.stdout.on('data', take);
  child.stderr.on('data', take);
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, output }));
  });
};
