/**
 * A clean checkout of one commit with its own installed modules, in a folder of its own.
 */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { ArgumentError } from '../options.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

const run = (command: string, words: readonly string[], cwd: string) => {
  // What npm sets for its scripts belongs to this project, not to the checkout.
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(npm|GIT)_/i.test(name)));
  const { status, stdout, stderr, error } = spawnSync(command, words, { cwd, env, encoding: 'utf8' });
  return { isDone: status === 0, output: stdout, failure: `${command} ${words[0]}: ${error ?? stderr}` };
};

/** The hash of a commit of this repository. Throws `ArgumentError`. */
export const findCommit = (name: string): string => {
  const words = ['rev-parse', '--verify', '--quiet', '--end-of-options', `${name}^{commit}`];
  const { isDone, output } = run('git', words, root);
  if (!isDone) throw new ArgumentError(`There is no commit "${name}" here: git log lists them.`);
  return output.trim();
};

/** Makes the checkout in the new folder `folder`, and installs what the server needs. */
export const makeCheckout = (commit: string, folder: string): void => {
  for (const [command, words, cwd] of [
    ['git', ['clone', '--quiet', '--shared', '--no-checkout', root, folder], root],
    ['git', ['checkout', '--quiet', '--detach', commit], folder],
    ['npm', ['install', '--omit=dev', '--no-audit', '--no-fund'], folder],
  ] as const) {
    const { isDone, failure } = run(command, words, cwd);
    if (!isDone) throw new Error(`The checkout of ${commit} failed. ${failure}`);
  }
};
