/**
 * An answer for eyes: a list as a table, an object as lines, an operation's message as a sentence. Pure.
 */

type Row = Readonly<Record<string, unknown>>;
const cellCharactersMax = 48;

const cell = (value: unknown): string => {
  if (value === null || value === undefined || value === '') return '-';
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  const line = text.replace(/\s+/g, ' ');
  return line.length > cellCharactersMax ? `${line.slice(0, cellCharactersMax - 1)}…` : line;
};

const tableText = (rows: readonly Row[]): string => {
  const [first] = rows;
  if (first === undefined) return 'None.\n';
  const names = Object.keys(first);
  const lines = [
    names.map((name) => name.replaceAll('_', ' ')),
    ...rows.map((row) => names.map((name) => cell(row[name]))),
  ];
  const widths = names.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
  return lines
    .map((line) =>
      line
        .map((text, column) => text.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .map((line) => `${line}\n`)
    .join('');
};

const isRows = (value: unknown): value is readonly Row[] =>
  Array.isArray(value) && value.every((item) => typeof item === 'object' && item !== null);

const linesText = (fields: Row): string => {
  const width = Math.max(...Object.keys(fields).map((name) => name.length));
  return Object.entries(fields)
    .map(
      ([name, value]) =>
        `${name.replaceAll('_', ' ').padEnd(width)}  ${typeof value === 'string' ? value : cell(value)}\n`,
    )
    .join('');
};

/** What the operator reads. `answer` is the body of a success. */
export const answerText = (answer: Row): string => {
  if (typeof answer.message === 'string') return `${answer.message}\n`;
  const values = Object.values(answer);
  const list: readonly unknown[] | undefined = values.find((value) => Array.isArray(value));
  if (list === undefined || !values.every((value) => Array.isArray(value) || typeof value === 'number')) {
    return linesText(answer);
  }
  if (isRows(list)) return tableText(list);
  return list.map((item) => `${cell(item)}\n`).join('') || 'None.\n';
};
