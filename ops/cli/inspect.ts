/**
 * `rollcall ops inspect KIND ID`: shows what the catalogue, SQL and the hot store hold about one entity.
 *
 * Formats the result as text or JSON; storage/export/inspect.ts reads it.
 */
import { type EntityKind, entityKinds, isEntityKind } from '../../engine/ids.ts';
import type { Fields, Inspection } from '../../storage/export/inspect.ts';
import { escapeUnsafe } from '../log/log.ts';
import { CommandError, type Terminal } from './command.ts';
import { formatJson } from './operator/table.ts';

/** Parses `bot`, `bots`, `Bot` … Throws `CommandError` with exit code 2 for anything else. */
export const parseKind = (argument: string): EntityKind => {
  const kind = argument.toLowerCase().replace(/s$/, '');
  if (isEntityKind(kind)) return kind;
  throw new CommandError(`KIND must be one of ${entityKinds.join(', ')}, not "${argument}".`, 2);
};

/** Resolves to the exit code: 1 when no store knows the entity. */
export const runInspect = async (
  inspect: (kind: EntityKind, id: string) => Promise<Inspection>,
  terminal: Terminal,
  { kind, id, json }: { readonly kind: EntityKind; readonly id: string; readonly json: boolean },
): Promise<number> => {
  const inspection = await inspect(kind, id);
  if (json) terminal.out.write(formatJson(inspection));
  else terminal.out.write(formatTable(inspection));
  const isKnown = (inspection.catalogue ?? inspection.totals ?? inspection.hot) !== null;
  if (!isKnown) terminal.err.write(`There is no ${kind} with the id ${id}.\n`);
  return isKnown ? 0 : 1;
};

const valueCharactersMax = 100;

const formatTable = ({ kind, id, catalogue, totals, hot }: Inspection): string => {
  const parts: [string, Fields | null, string][] = [
    ['Catalogue', catalogue, 'not listed'],
    ['Totals in SQL', totals, 'none'],
    ['Hot store', hot, 'not there: nothing was counted since it was listed or imported'],
  ];
  const width = Math.max(
    8,
    ...parts.flatMap(([, fields]) => Object.keys(fields ?? {}).map((name) => name.length)),
  );
  const lines = parts.flatMap(([title, fields, textIfAbsent]) => [
    '',
    title,
    ...(fields === null
      ? [`  ${textIfAbsent}`]
      : Object.entries(fields).map(
          ([name, value]) => `  ${name.padEnd(width)}  ${formatField(name, value)}`,
        )),
  ]);
  return `${kind} ${id}\n${lines.join('\n')}\n`;
};

/** Formats a value on one line; times in ms also get a date. */
const formatField = (name: string, value: unknown): string => {
  if (value === null || value === '') return '-';
  if (value instanceof Date) return value.toISOString();
  if (typeof value === 'number' && value > 0 && /(_ms|Ms)$/.test(name)) {
    return `${value} (${new Date(value).toISOString()})`;
  }
  const text = escapeUnsafe((typeof value === 'string' ? value : JSON.stringify(value)).replace(/\s+/g, ' '));
  return text.length > valueCharactersMax ? `${text.slice(0, valueCharactersMax)}…` : text;
};
