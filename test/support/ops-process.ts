/**
 * The operator's command line as a process of its own.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { type Ended, watchChild } from './child.ts';
import { quiet } from './node-process.ts';

const program = fileURLToPath(new URL('../../ops/cli/main.ts', import.meta.url));

export interface OpsOptions {
  /** For its standard input. */
  readonly input?: string;
  readonly cwd?: string;
  readonly settings?: Readonly<Record<string, string>>;
  /** Gets the process, to signal it. */
  readonly onStart?: (child: ChildProcess) => void;
}

/** Runs one command on a data folder. */
export const runOps = (
  dataDir: string,
  args: readonly string[],
  { input = '', cwd, settings, onStart }: OpsOptions = {},
): Promise<Ended> => {
  const env = { ...process.env, ...quiet, DATA_DIR: dataDir, ...settings };
  const child = spawn(process.execPath, [...process.execArgv, program, ...args], { cwd, env });
  onStart?.(child);
  child.stdin.end(input);
  return watchChild(child).ended;
};
