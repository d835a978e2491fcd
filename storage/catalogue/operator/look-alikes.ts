/**
 * Finds listings whose name looks like another one, for those who review it: nothing is refused for that.
 *
 * Two names look alike if their skeletons are equal (Unicode Technical Standard 39), in any letter case. SQL
 * has no skeletons, so it compares how names begin with a pattern that lets every character be one of those
 * that look like it, and the skeletons of what it finds are compared here. That is one pass over the names of
 * the directory, for one listing that an operator opens; at most `foundMax` are found.
 */
import { readFileSync } from 'node:fs';
import type { Sql } from '../../sql/client.ts';

export interface LookAlike {
  readonly kind: 'bot' | 'server' | 'team' | 'pack';
  readonly id: string;
  readonly name: string;
}

const foundMax = 10;
/** Characters that SQL compares: a longer pattern costs more. */
const comparedMax = 8;
/** Names of one kind with such a beginning whose skeletons are compared. */
const candidatesMax = 1_000;
const file = new URL('confusables.txt', import.meta.url);

interface Confusables {
  /** What a character looks like. */
  readonly prototypes: ReadonlyMap<string, string>;
  /** The characters that look like a text, which is in lower case. */
  readonly sources: ReadonlyMap<string, string>;
}

let loaded: Confusables | null = null;

/** Reads the file on first use. */
const loadConfusables = (): Confusables => {
  if (loaded !== null) return loaded;
  const prototypes = new Map<string, string>();
  const sources = new Map<string, string>();
  const [, lines = ''] = readFileSync(file, 'utf8').split('\n====\n');
  for (const line of lines.split('\n')) {
    const [prototype = '', characters = ''] = line.split('\t');
    for (const character of characters) prototypes.set(character, prototype);
    const folded = prototype.toLowerCase();
    sources.set(folded, (sources.get(folded) ?? '') + characters);
  }
  loaded = { prototypes, sources };
  return loaded;
};

/** Computes what the names that look like this one have in common. */
export const computeSkeleton = (name: string): string => {
  const { prototypes } = loadConfusables();
  const seen = name.normalize('NFD').replace(/\p{Default_Ignorable_Code_Point}/gu, '');
  const shapes = Array.from(seen, (character) => prototypes.get(character) ?? character);
  return shapes.join('').normalize('NFD').toLowerCase();
};

const escapeCharacter = (character: string): string =>
  `\\U${character.codePointAt(0)?.toString(16).padStart(8, '0')}`;

/** The characters that look like this text, as SQL lists them in brackets; `''` for none. */
const toAlternatives = (text: string): string => {
  const own = [...text].length === 1 ? text : '';
  const all = own + (loadConfusables().sources.get(text) ?? '');
  return Array.from(new Set(all + all.toUpperCase()), escapeCharacter).join('');
};

/** `Default_Ignorable_Code_Point`, as far as names may have it. */
const ignored =
  '[\\u00ad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u200b-\\u200f\\u2060-\\u206f' +
  '\\u3164\\ufe00-\\ufe0f\\ufeff\\uffa0\\U000e0000-\\U000e0fff]*';

/** Builds a pattern that fits the beginning of every name with this skeleton. */
const buildPattern = (skeleton: string): string => {
  const characters = [...skeleton.normalize('NFC')].slice(0, comparedMax);
  let pattern = ignored;
  for (let at = 0; at < characters.length; at++) {
    const [one = '', two = ''] = characters.slice(at, at + 2);
    // One character may look like two, as `m` like `rn`.
    const pair = two === '' ? '' : toAlternatives(one + two);
    const single = `[${toAlternatives(one)}]`;
    pattern += pair === '' ? single : `(?:[${pair}]|${single}${ignored}[${toAlternatives(two)}])`;
    pattern += ignored;
    if (pair !== '') at++;
  }
  return `^${pattern}`;
};

/** Resolves to the other listings whose name looks like this one. */
export const findLookAlikes = async (sql: Sql, { kind, id, name }: LookAlike): Promise<LookAlike[]> => {
  const skeleton = computeSkeleton(name);
  if (skeleton === '') return [];
  const pattern = buildPattern(skeleton);
  const rows = await sql<LookAlike[]>`
    (select 'bot' as kind, bot_id as id, username as name from bots join users on users.id = bot_id
      where username ~ ${pattern} limit ${candidatesMax})
    union all
    (select 'server', server_id, name from servers where name ~ ${pattern} limit ${candidatesMax})
    union all
    (select 'team', id::text, name from teams where name ~ ${pattern} limit ${candidatesMax})
    union all
    (select 'pack', url, name from packs where name ~ ${pattern} limit ${candidatesMax})
    order by 1, 2`;
  const others = rows.filter((row) => row.kind !== kind || row.id !== id);
  return others.filter((row) => computeSkeleton(row.name) === skeleton).slice(0, foundMax);
};
