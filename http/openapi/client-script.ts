/**
 * Builds the client as one file without types: what `/docs/client.js` serves and the package contains.
 *
 * The files of http/client are erasable TypeScript, import only each other and share no names, so they can be
 * joined in the order of their imports.
 */
import { readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';

/** In the order of their imports. */
const parts = ['request.ts', 'log.ts', 'follow.ts', 'receive.ts', 'autopost.ts'];

const readPart = (name: string): string =>
  readFileSync(new URL(`../client/${name}`, import.meta.url), 'utf8');

/** What spans lines and is left out: from a line with this start to the first one with this end. */
const leftOut: readonly (readonly [start: string, end: string])[] = [
  ['import ', ';'],
  ['/**', '*/'],
  ['//', ''],
];

const blanksOfTypes = /(?<=\S) {2,}/g;

/** Removes types, imports of other parts, comments on lines of their own, and the blanks that types leave. */
const toScript = (source: string): string => {
  const kept: string[] = [];
  let until: string | null = null;
  for (const line of stripTypeScriptTypes(source).split('\n')) {
    const text = line.trim();
    until ??= leftOut.find(([start]) => text.startsWith(start))?.[1] ?? null;
    if (until === null && text !== '') kept.push(line.trimEnd().replace(blanksOfTypes, ' '));
    if (until !== null && text.endsWith(until)) until = null;
  }
  return kept.join('\n').replace(/^export /gm, '');
};

const head = '// The client of a Rollcall directory. MIT licensed. Guide: /docs/client.md';

/** What http/client/index.ts exports; the rest is for the other parts alone. */
const published = [
  'autopost',
  'createClient',
  'DirectoryError',
  'follow',
  'groupByRequest',
  'log',
  'readShards',
  'receive',
  'SignatureError',
];

const exportWords = { module: 'export', commonjs: 'module.exports =' } as const;

/** Reads and joins the parts, for `import` or for `require`. */
export const buildClientScript = (kind: keyof typeof exportWords = 'module'): string => {
  const bodies = parts.map((name) => toScript(readPart(name)));
  return [head, ...bodies, `${exportWords[kind]} { ${published.join(', ')} };`, ''].join('\n');
};
