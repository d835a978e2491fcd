/**
 * Keeps our sources without their types, so that a start does not take them off anew: Node 22 does that at
 * every start and remembers nothing, for a quarter of a second of processor time.
 *
 * One file per source below node_modules/.rollcall, named after the source's path. A file counts only for
 * exactly the text it was made of, and only whole (a checksum covers both), so a changed source or a torn
 * file is simply made again. Nothing depends on it: where it cannot be written, Node works as always.
 * Loaded before every script by launch.mjs, in worker threads too.
 */
import { hash } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { registerHooks, stripTypeScriptTypes } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = new URL('../../', import.meta.url);
const folder = fileURLToPath(new URL('node_modules/.rollcall/stripped/', root));

/** The kept text, `null` when there is none for this source. */
const keptOf = (file, source) => {
  try {
    const kept = readFileSync(file, 'utf8');
    const end = kept.indexOf('\n');
    const text = kept.slice(end + 1);
    return kept.slice(0, end) === checksumOf(source, text) ? text : null;
  } catch {
    return null;
  }
};

const checksumOf = (source, text) => hash('sha256', `${process.version}\n${source}\0${text}`);

/** Two may do this at once: each puts a whole file in place. False where the folder is not ours to write. */
const keep = (file, source, text) => {
  const mine = `${file}.${process.pid}`;
  try {
    mkdirSync(folder, { recursive: true });
    writeFileSync(mine, `${checksumOf(source, text)}\n${text}`);
    renameSync(mine, file);
    return true;
  } catch {
    return false;
  }
};

const load = (url, context, next) => {
  // Trees that tests make elsewhere come and go, and would leave their files here.
  if (context.format !== 'module-typescript' || !url.startsWith(root.href)) return next(url, context);
  const source = readFileSync(fileURLToPath(url), 'utf8');
  const file = join(folder, hash('sha256', url).slice(0, 24));
  let text = keptOf(file, source);
  if (text === null) {
    text = stripTypeScriptTypes(source, { sourceUrl: url });
    keep(file, source, text);
  }
  return { format: 'module', source: text, shortCircuit: true };
};

registerHooks({ load });
