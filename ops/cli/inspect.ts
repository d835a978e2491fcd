/**
 * `npm run ops -- inspect KIND ID`: all that is known about one entity, side by side, for eyes or as JSON.
 *
 * Owns the words and their layout; what is known comes from storage/export/inspect.ts.
 */
import { type EntityKind, entityKinds, isEntityKind } from '../../engine/ids.ts';
import type { HotStore } from '../../engine/ports.ts';
import { type Fields, type Inspection, inspectEntity } from '../../storage/export/inspect.ts';
import type { Sql } from '../../storage/sql/client.ts';
import { CommandError, type Terminal } from './command.ts';

export interface InspectArgs {
  readonly kind: EntityKind;
  readonly id: string;
  readonly json: boolean;
}
/** The kind a word names, in singular or plural. Throws words for the operator. */
export const parseKind = (word: string): EntityKind => {
  const kind = word.toLowerCase().replace(/s$/, '');
  if (isEntityKind(kind)) return kind;
  throw new CommandError(`KIND must be one of ${entityKinds.join(', ')}, not "${word}".`, 2);
};

/** Resolves to the exit code: 1 when nothing is known. */
export const runInspect = async (
  stores: { readonly sql: Sql; readonly hot: HotStore },
  terminal: Terminal,
  words: InspectArgs,
): Promise<number> => {
  const { kind } = words;
  const inspection = await inspectEntity(stores, kind, words.id);
  if (words.json) terminal.out.write(`${JSON.stringify(inspection, null, 2)}\n`);
  else terminal.out.write(formatTable(inspection));
  const known = inspection.catalogue ?? inspection.totals ?? inspection.hot;
  if (known === null) terminal.err.write(`No ${kind} ${words.id} is known.\n`);
  return known === null ? 1 : 0;
};

const valueCharactersMax = 100;

const formatTable = ({ kind, id, catalogue, totals, hot }: Inspection): string => {
  const parts: [string, Fields | null, string][] = [
    ['Catalogue', catalogue, 'not listed'],
    ['Totals in SQL', totals, 'none'],
    ['Hot store', hot, 'not activated: nothing was counted since it was listed or imported'],
  ];
  const width = Math.max(
    8,
    ...parts.flatMap(([, fields]) => Object.keys(fields ?? {}).map((name) => name.length)),
  );
  const lines = parts.flatMap(([title, fields, nothing]) => [
    '',
    title,
    ...(fields === null
      ? [`  ${nothing}`]
      : Object.entries(fields).map(
          ([name, value]) => `  ${name.padEnd(width)}  ${formatField(name, value)}`,
        )),
  ]);
  return `${kind} ${id}\n${lines.join('\n')}\n`;
};

/** One line per value; times of the hot store also as dates. */
const formatField = (name: string, value: unknown): string => {
  if (value === null || value === '') return '-';
  if (value instanceof Date) return value.toISOString();
  if (typeof value === 'number' && value > 0 && /(_ms|Ms)$/.test(name)) {
    return `${value} (${new Date(value).toISOString()})`;
  }
  const text = (typeof value === 'string' ? value : JSON.stringify(value)).replace(/\s+/g, ' ');
  return text.length > valueCharactersMax ? `${text.slice(0, valueCharactersMax)}…` : text;
};
