/**
 * An earlier version of the project, from its own history, for tests of folders and fleets that meet both.
 * Needs git and the history: a shallow clone has none.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../../', import.meta.url));

/** Unpacks the version before the one that brought the file. Returns whether the history has it. */
export const unpackVersionBefore = (path: string, folder: string): boolean => {
  try {
    const log = ['log', '--first-parent', '--diff-filter=A', '--format=%H', '--', path];
    const found = execFileSync('git', ['-C', root, ...log], { encoding: 'utf8', stdio: 'pipe' });
    const commit = found.trim().split('\n').at(0);
    mkdirSync(folder);
    execFileSync('sh', ['-c', `git -C '${root}' archive '${commit}^' | tar -x -C '${folder}'`]);
    symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
    return true;
  } catch {
    return false;
  }
};
