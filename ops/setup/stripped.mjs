/**
 * Caches our sources without their types, and what V8 compiles of all modules, and finds modules by their
 * names: stripping takes a quarter of a second of processor time at each start, compiling and finding half as
 * much each.
 *
 * The cache has one file per source in node_modules/.rollcall, named by a hash of the source's URL. A
 * checksum over the source and the stripped text makes sure that a changed source or a torn file is stripped
 * again. The cache is optional: if it cannot be written, Node strips the types as usual. launch.mjs loads
 * this module before every script, also in worker threads. ops/bin/rollcall loads it with `?read-only`, and
 * then it writes nothing: an installation has filled the cache (load.mjs). Node checks its compiled code by
 * the source itself, and writes it when a thread ends, so only without `?read-only`.
 */
import { hash } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { enableCompileCache, registerHooks, stripTypeScriptTypes } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = new URL('../../', import.meta.url);
const isReadOnly = new URL(import.meta.url).search === '?read-only';
const folder = fileURLToPath(new URL('node_modules/.rollcall/stripped/', root));

/** Returns the source without types from the cache; `null` if the cache has no valid entry for it. */
const readCached = (file, source) => {
  try {
    const content = readFileSync(file, 'utf8');
    const end = content.indexOf('\n');
    const text = content.slice(end + 1);
    return content.slice(0, end) === computeChecksum(source, text) ? text : null;
  } catch {
    return null;
  }
};

const computeChecksum = (source, text) => hash('sha256', `${process.version}\n${source}\0${text}`);

/** Writes the file in one step, since several processes may write it. False when the folder is read-only. */
const writeCached = (file, source, text) => {
  const temporary = `${file}.${process.pid}`;
  try {
    mkdirSync(folder, { recursive: true });
    writeFileSync(temporary, `${computeChecksum(source, text)}\n${text}`);
    renameSync(temporary, file);
    return true;
  } catch {
    return false;
  }
};

/** Returns the source at `url` without types. */
export const readStripped = (url) => {
  const source = readFileSync(fileURLToPath(url), 'utf8');
  const file = join(folder, hash('sha256', url).slice(0, 24));
  const cached = readCached(file, source);
  if (cached !== null) return cached;
  const text = stripTypeScriptTypes(source, { sourceUrl: url });
  if (!isReadOnly) writeCached(file, source, text);
  return text;
};

const load = (url, context, next) => {
  // Only sources of this project: tests create other trees, whose files would stay in the cache.
  if (context.format !== 'module-typescript' || !url.startsWith(root.href)) return next(url, context);
  return { format: 'module', source: readStripped(url), shortCircuit: true };
};

const packages = new URL('node_modules/', root).href;
const typebox = new URL('typebox/', packages).href;

/** The format of a module that has the name in the importing module; `null`: Node looks for it. */
const findFormat = (name, importer) => {
  if (!name.startsWith('.')) return null;
  if (name.endsWith('.mjs') && importer.startsWith(typebox)) return 'module';
  const isOwn = importer.startsWith(root.href) && !importer.startsWith(packages);
  return name.endsWith('.ts') && isOwn ? 'module-typescript' : null;
};

/**
 * Finds the file of a relative name in our sources and in typebox, which has 340 modules, by the name alone.
 * Node would look for the file, for links and for package.json files on the way: a tenth of a start.
 */
const resolve = (specifier, context, next) => {
  const format = findFormat(specifier, context.parentURL ?? '');
  if (format === null) return next(specifier, context);
  return { url: new URL(specifier, context.parentURL).href, format, shortCircuit: true };
};

if (!isReadOnly) enableCompileCache(fileURLToPath(new URL('node_modules/.rollcall/compiled/', root)));
registerHooks({ load, resolve });
