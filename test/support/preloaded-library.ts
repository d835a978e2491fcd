/**
 * A small library of C that a test builds and preloads into a node.
 *
 * Where it cannot be built (no compiler, not Linux) there is none, and the calling test must report that it
 * skipped something.
 */
import { execFileSync } from 'node:child_process';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { makeFolder } from './folder.ts';

/** The path of the built library; `null` where it cannot be built. `name` is a file beside this one. */
export const buildLibrary = (name: string): string | null => {
  if (process.platform !== 'linux') return null;
  const source = fileURLToPath(new URL(`./${name}`, import.meta.url));
  const library = join(makeFolder('rollcall-library-'), `${basename(name, '.c')}.so`);
  try {
    execFileSync('gcc', ['-O1', '-shared', '-fPIC', '-o', library, source], { stdio: 'ignore' });
    return library;
  } catch {
    // No compiler, or one that cannot do this.
    return null;
  }
};

/** What a Node of ours prints with the library; one that is linked statically would not use it. */
export const printWith = (library: string, environment: NodeJS.ProcessEnv, expression: string): string =>
  execFileSync(process.execPath, ['-p', expression], {
    env: { ...process.env, ...environment, LD_PRELOAD: library },
    encoding: 'utf8',
  });
