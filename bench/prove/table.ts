/**
 * The table that `prove` prints: a line for each server and kind, then the first lies in words. Pure.
 */
import { type Column, type Table, tabulate } from '../report/table.ts';
import { type Lie, type ProofKind, proofKinds } from './lies.ts';
import type { KindFigures, Proof } from './verdict.ts';

const columns = ['lost', 'doubled', 'late', 'other'] as const;
const columnOf: Readonly<Record<string, (typeof columns)[number]>> = {
  lost: 'lost',
  missing: 'lost',
  short: 'lost',
  doubled: 'doubled',
  repeated: 'doubled',
  'accepted twice': 'doubled',
  late: 'late',
};

const countLies = (lies: readonly Lie[], kind: ProofKind, column: (typeof columns)[number]): number =>
  lies.filter((lie) => lie.kind === kind && (columnOf[lie.name] ?? 'other') === column).length;

/** A line for each server and kind. */
export const buildProofTable = (proofs: ReadonlyMap<string, Proof>): Table => {
  const rows = [...proofs].flatMap(([server, { figures, lies }]) =>
    proofKinds.map((kind) => ({ server, kind, lies, found: figures[kind] })),
  );
  type Row = (typeof rows)[number];
  const toFigure = (name: keyof KindFigures): Column<Row> => [name, ({ found }) => found?.[name]];
  const toCount = (column: (typeof columns)[number]): Column<Row> => [
    column,
    ({ found, lies, kind }) => (found === null ? null : countLies(lies, kind, column)),
  ];
  const heads: readonly Column<Row>[] = [
    ['server', ({ server }) => server],
    ['what', ({ kind }) => kind],
  ];
  const figures = (['acknowledged', 'unknown', 'refused'] as const).map(toFigure);
  return tabulate(rows, [...heads, ...figures, ...columns.map(toCount)], 2);
};

/** All lies in words. */
export const listLies = (proofs: ReadonlyMap<string, Pick<Proof, 'lies'>>): readonly string[] =>
  [...proofs].flatMap(([server, { lies }]) =>
    lies.map(({ kind, name, text }) => `${server}: ${kind} ${name}: ${text}`),
  );
