/**
 * The table that `prove` prints: a line for each server and kind, then the first lies in words. Pure.
 */
import { alignColumns } from '../report/text.ts';
import { type Lie, type ProofKind, proofKinds } from './lies.ts';
import type { Proof } from './verdict.ts';

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

const toRow = (server: string, kind: ProofKind, { figures, lies }: Proof): readonly string[] => {
  const found = figures[kind];
  if (found === null) return [server, kind, ...Array.from({ length: 7 }, () => '–')];
  const { acknowledged, unknown, refused } = found;
  const counts = columns.map((column) => countLies(lies, kind, column));
  return [server, kind, ...[acknowledged, unknown, refused, ...counts].map(String)];
};

/** The table of all servers, and the first lies of each in words. */
export const describeProofs = (proofs: ReadonlyMap<string, Proof>): string => {
  const head = ['server', 'what', 'acknowledged', 'unknown', 'refused', ...columns];
  const rows = [...proofs].flatMap(([server, proof]) => proofKinds.map((kind) => toRow(server, kind, proof)));
  const shown = 20;
  const lies = [...proofs].flatMap(([server, proof]) => {
    const lines = proof.lies.slice(0, shown).map((lie) => `  ${lie.kind} ${lie.name}: ${lie.text}`);
    const rest = proof.lies.length > shown ? [`  … and ${proof.lies.length - shown} more`] : [];
    return lines.length === 0 ? [] : [`${server}:`, ...lines, ...rest];
  });
  return [alignColumns({ head, rows, textColumns: 2 }), ...(lies.length > 0 ? ['', ...lies] : [])].join('\n');
};
