/**
 * The table that `prove` prints: a line for each server and kind, then the first lies in words. Pure.
 */
import { type Table, tabulate } from '../report/table.ts';
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
export const buildProofTable = (proofs: ReadonlyMap<string, Proof>): Table =>
  tabulate(
    [...proofs].flatMap(([server, { figures, lies }]) =>
      proofKinds.map((kind) => ({ server, kind, lies, figures: figures[kind] })),
    ),
    [
      ['server', ({ server }) => server],
      ['what', ({ kind }) => kind],
      ...(['acknowledged', 'unknown', 'refused'] as const).map(
        (name) => [name, ({ figures }: { readonly figures: KindFigures | null }) => figures?.[name]] as const,
      ),
      ...columns.map(
        (column) =>
          [
            column,
            ({
              figures,
              lies,
              kind,
            }: {
              figures: KindFigures | null;
              lies: readonly Lie[];
              kind: ProofKind;
            }) => (figures === null ? null : countLies(lies, kind, column)),
          ] as const,
      ),
    ],
    2,
  );

/** All lies in words. */
export const listLies = (proofs: ReadonlyMap<string, Pick<Proof, 'lies'>>): readonly string[] =>
  [...proofs].flatMap(([server, { lies }]) =>
    lies.map(({ kind, name, text }) => `${server}: ${kind} ${name}: ${text}`),
  );
