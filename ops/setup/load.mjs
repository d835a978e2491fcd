/**
 * Loads every module of the server and its commands, so that a package that is missing shows at the end of an
 * installation. The hooks of stripped.mjs compile each of them ahead on the way. Runs on the pinned Node, as
 * a process of its own.
 */
import { globSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { readStripped } from './stripped.mjs';

const root = fileURLToPath(new URL('../../', import.meta.url));
/** These begin their work when they are loaded, or run in a browser, so they are only compiled. */
const programs = [
  /-(main|worker)\.ts$/,
  /^http\/((operator|site)\/page\/|client\/cli\.ts$)/,
  /^ops\/(main|cli\/(check|client|document|version))\.ts$/,
];

for (const path of globSync('{engine,http,storage,ops}/**/*.ts', { cwd: root }).sort()) {
  const { href } = pathToFileURL(join(root, path));
  if (programs.some((program) => program.test(path))) readStripped(href);
  else await import(href);
}
