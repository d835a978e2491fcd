/**
 * The generated tables of docs/reliability.md: from rows (figures.jsonl) to text, and from the `figures:`
 * lines of a run to rows. Pure.
 */

/** A row of the table of faults. */
export interface FaultRow {
  readonly fault: string;
  readonly promise: string;
  /** Paths below test/, without `.test.ts` or `.fault.ts`. */
  readonly tests: readonly string[];
  /** Of the cases whose figures it shows. */
  readonly names: readonly string[];
  readonly figure: string;
}
/** A row of the table of attacks: worst wait, memory, lived; on embedded stores, then on servers. */
export interface AttackRow {
  readonly attack: string;
  readonly cells: readonly string[];
}
export type Row = FaultRow | AttackRow;

type Line = Readonly<Record<string, unknown>> & { readonly name: string };

const isFault = (row: Row): row is FaultRow => 'fault' in row;

/** The figures that the output of a run has, by the name of their case. */
export const parseFigures = (output: string): ReadonlyMap<string, Line> => {
  const lines = [...output.matchAll(/^\s*figures: (\{.*\})$/gm)].map(([, json]) =>
    JSON.parse(json as string),
  );
  return new Map((lines as Line[]).map((line) => [line.name, line]));
};

const hidden = new Set(['name', 'rounds', 'seconds', 'seeds', 'silenceSecondsMax']);

const toText = (value: unknown): string =>
  typeof value === 'number' ? value.toLocaleString('en-US') : JSON.stringify(value);

/** `drainMsMax` → `drain ms at most`. */
const toLabel = (key: string): string => {
  const words = key.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  return words.replace(/^(.*) max$/, '$1 at most');
};

/** `51 rounds: acked 16,987, lost 0, …; 0.1 s without an acknowledged change`. */
const render = (line: Line): string => {
  const { rounds, silenceSecondsMax } = line;
  const shown = Object.entries(line).filter(([key]) => !hidden.has(key));
  const all = shown.map(([key, value]) => `${toLabel(key)} ${toText(value)}`).join(', ');
  const count = typeof rounds === 'number' && rounds > 1 ? `${toText(rounds)} rounds: ` : '';
  const silence = silenceSecondsMax === undefined ? '' : `; ${toText(silenceSecondsMax)} s`;
  return `${count}${all}${silence}${silence && ' without an acknowledged change'}`;
};

/** The row with the figures of a run; unchanged where the run did not have all of its cases. */
export const refresh = (row: Row, figures: ReadonlyMap<string, Line>): Row => {
  if (!isFault(row)) {
    const cells = figures.get(`attack: ${row.attack}`)?.cells;
    return Array.isArray(cells) ? { ...row, cells } : row;
  }
  const lines = row.names.flatMap((name) => figures.get(name) ?? []);
  if (lines.length === 0 || lines.length < row.names.length) return row;
  const texts = lines.map((line) => (lines.length > 1 ? `${line.name}: ${render(line)}` : render(line)));
  return { ...row, figure: texts.join('; ') };
};

const toCommand = (test: string): string =>
  /^(faults\/cases|bench)\//.test(test)
    ? `\`npm run test:faults -- ${test.replace('faults/cases/', '')}\``
    : `\`npm test -- ${test}\``;

const faultHead = ['| fault | promise | figure | command |', '|---|---|---|---|'];
const attackHead = [
  '| attack | embedded: worst wait | memory | lived | Redis + Postgres: worst wait | memory | lived |',
  '|---|---|---|---|---|---|---|',
];

const fill = (document: string, name: string, lines: readonly string[]): string => {
  const block = new RegExp(`(<!-- ${name}: .* -->\n)[^]*?(<!-- end of ${name} -->)`);
  if (!block.test(document)) throw new Error(`The document has no place for the table of ${name}.`);
  return document.replace(block, (_, begin, end) => `${begin}\n${lines.join('\n')}\n\n${end}`);
};

/** The document with both tables as these rows say. */
export const writeTables = (document: string, rows: readonly Row[]): string => {
  const faults = rows
    .filter(isFault)
    .map(
      ({ fault, promise, figure, tests }) =>
        `| ${fault} | ${promise} | ${figure} | ${tests.map(toCommand).join(', ')} |`,
    );
  const attacks = rows.flatMap((row) =>
    isFault(row) ? [] : [`| ${row.attack} | ${row.cells.join(' | ')} |`],
  );
  const withFaults = fill(document, 'faults', [...faultHead, ...faults]);
  return fill(withFaults, 'attacks', [...attackHead, ...attacks]);
};
