/**
 * The function library that decides inside Redis: reads its source, computes its version, loads it and drops
 * old versions.
 *
 * The version is a hash of the source and part of every function's name, so that a node of a new version
 * never changes the rules under a node of an old one. Loading is safe to repeat. Only `dropLibraries` removes
 * an old library; its caller must know which versions are still in use.
 */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Redis } from 'ioredis';
import { firstPart, names } from './slot-layout.ts';

const prefix = 'rollcall_';
const verbs = [
  'commit',
  'load',
  'heads',
  'changes',
  'peek',
  'parts',
  'due',
  'settled',
  'publish',
  'clear',
  'sweep',
  'mend',
] as const;
export type Verb = (typeof verbs)[number];

/** Commands that the functions call before they write. */
const readsOnly =
  /^(h?exists|h?get|hmget|hgetall|hscan|lrange|sismember|smembers|time|z(card|range.*|score))$/;

export interface Library {
  readonly name: string;
  readonly version: string;
  readonly code: string;
  /** Function names as `FCALL` expects them. */
  readonly functions: Readonly<Record<Verb, string>>;
  /** The commands that the functions call, in lower case. */
  readonly commands: readonly string[];
}

/** Joins the part made by slot-layout.ts and the files in order, with numbers for the names of positions. */
const readSource = (folder: string): string => {
  const files = readdirSync(folder).filter((file) => file.endsWith('.lua'));
  const parts = files.sort().map((file) => readFileSync(join(folder, file), 'utf8'));
  return [firstPart, ...parts]
    .join('\n')
    .replace(/(?<![.'\w])[A-Z][A-Z0-9_]*\b/g, (name) => String(names[name] ?? name));
};

/** Reads this program's library from its folder. Throws when a file cannot be read. */
export const readLibrary = (folder = join(import.meta.dirname, 'functions')): Library => {
  const template = readSource(folder);
  const called = template.matchAll(/\bcall(?:Chunked)?\('([A-Z]+)'/g);
  const commands = [...new Set([...called].map(([, name = '']) => name.toLowerCase()))].sort();
  const writing = commands.filter((name) => !readsOnly.test(name));
  const source = template.replace('@writing', writing.map((name) => `'${name}'`).join());
  const version = createHash('sha256').update(source).digest('hex').slice(0, 12);
  const name = `${prefix}${version}`;
  const functions = Object.fromEntries(verbs.map((verb) => [verb, `${prefix}${verb}_${version}`]));
  return {
    name,
    version,
    code: `#!lua name=${name}\n${source.replaceAll('_@', `_${version}`)}`,
    functions: functions as Record<Verb, string>,
    commands,
  };
};

/**
 * Loads the library on one primary, unless it is loaded. *Hot* when it resolves: Redis stores libraries with
 * its data. A server without functions is refused by its name.
 */
export const loadLibrary = async (primary: Redis, library: Library): Promise<void> => {
  try {
    await primary.function('LOAD', library.code);
  } catch (error) {
    const { message } = error as Error;
    if (/already exists/i.test(message)) return;
    if (!/^ERR unknown (sub)?command|^ERR syntax error/i.test(message)) throw error;
    throw new Error(
      `${await readServerName(primary)} has no FUNCTION LOAD: use Redis 7.0 or later, or Valkey (${message})`,
    );
  }
};

/** Reads what a server calls itself, such as "Dragonfly df-v1.30.1" or "Redis 6.2.14". */
const readServerName = async (primary: Redis): Promise<string> => {
  const info = await primary.info('server').catch(() => '');
  const own = /^(?!redis_|gcc_|os_)([a-z]+)_version:(\S+)/m.exec(info);
  if (own !== null) return `${capitalise(own[1] as string)} ${own[2]}`;
  const version = /^redis_version:(\S+)/m.exec(info)?.[1] ?? 'of an unknown version';
  return `${capitalise(/^server_name:(\S+)/m.exec(info)?.[1] ?? 'redis')} ${version}`;
};

const capitalise = (name: string): string => name.charAt(0).toUpperCase() + name.slice(1);

/** Lists the versions of our library that a primary has loaded. */
export const listVersions = async (primary: Redis): Promise<readonly string[]> => {
  const rows = (await primary.function('LIST', 'LIBRARYNAME', `${prefix}*`)) as string[][];
  return rows
    .map((row) => row[row.indexOf('library_name') + 1] ?? '')
    .filter((name) => /^rollcall_[0-9a-f]{12}$/.test(name))
    .map((name) => name.slice(prefix.length));
};

/**
 * Drops all versions except those in `keep`; resolves to the dropped ones. A node that needs one loads it
 * again.
 */
export const dropLibraries = async (
  primary: Redis,
  keep: ReadonlySet<string>,
): Promise<readonly string[]> => {
  const dropped = (await listVersions(primary)).filter((version) => !keep.has(version));
  for (const version of dropped) {
    await primary.function('DELETE', `${prefix}${version}`).catch((error: Error) => {
      if (!/not found/i.test(error.message)) throw error;
    });
  }
  return dropped;
};
