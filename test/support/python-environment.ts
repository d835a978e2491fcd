/**
 * Python for tests: interpreters, and empty environments with packages of PyPI.
 */
import { type ExecFileSyncOptions, execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { makeFolder } from './folder.ts';

/** Runs a program for its output; `''` when it is missing or fails. */
export const readOutput = (
  command: string,
  args: readonly string[],
  environment: NodeJS.ProcessEnv = {},
): string => {
  try {
    const env = { ...process.env, ...environment };
    return execFileSync(command, args, { env, stdio: ['ignore', 'pipe', 'ignore'] })
      .toString()
      .trim();
  } catch {
    return '';
  }
};

/** Lists the paths of the interpreters from 3.9 on, oldest first. pyenv hides those that are not chosen. */
export const listPythons = (): string[] => {
  const installed = readOutput('pyenv', ['versions', '--bare']).split('\n').join(':');
  const chosen = installed === '' ? {} : { PYENV_VERSION: installed };
  const versions = Array.from({ length: 12 }, (_, index) => `python3.${9 + index}`);
  return versions
    .map((name) => readOutput(name, ['-c', 'import sys; print(sys.executable)'], chosen))
    .filter((path) => path !== '');
};

const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--no-warn-script-location'];

/** Creates an empty environment with these packages. Returns its Python. Throws with what failed. */
export const createPythonEnvironment = (python: string, wanted: readonly string[]): string => {
  const folder = makeFolder('rollcall-venv-');
  const options: ExecFileSyncOptions = { stdio: ['ignore', 'pipe', 'pipe'], timeout: 180_000 };
  execFileSync(python, ['-m', 'venv', folder], options);
  const inside = join(folder, 'bin/python');
  execFileSync(inside, [...pip, ...wanted], options);
  return inside;
};
