/**
 * Whether a note (engine/tools/notes.ts) is there. `test/docs/notes.test.ts` wants each note named in one
 * call that finds it, and in one that finds it gone.
 */
import * as assert from 'uvu/assert';
import { type NoteName, noteSeverities } from '../../engine/tools/notes.ts';
import { until } from './until.ts';

interface Node {
  readonly adminUrl: string;
  output?(): string;
}

const isIn = (name: NoteName, notes: readonly string[]): boolean =>
  notes.some((note) => note.startsWith(`${name}: `));

export const assertNote = (name: NoteName, notes: readonly string[]): void =>
  assert.ok(isIn(name, notes), `${name}: ${notes.join('; ')}`);

export const assertNoNote = (name: NoteName, notes: readonly string[]): void =>
  assert.not(isIn(name, notes), notes.join('; '));

const read = async (name: NoteName, { adminUrl }: Node) => {
  const ask = async (path: string): Promise<string> => (await fetch(adminUrl + path)).text();
  const { notes } = JSON.parse(await ask('/readyz')) as { notes: readonly string[] };
  const line = `rollcall_notes{note="${name}",severity="${noteSeverities[name]}"} `;
  return { isNoted: isIn(name, notes), isMeasured: (await ask('/metrics')).includes(`${line}1\n`) };
};

/** Waits until a node has the note, its metric, and its line in the log if that is read. */
export const untilNote = async (name: NoteName, node: Node, millisecondsMax?: number): Promise<void> => {
  const isThere = async (): Promise<boolean> => {
    const { isNoted, isMeasured } = await read(name, node);
    return isNoted && isMeasured;
  };
  await until(`the note ${name}`, isThere, millisecondsMax);
  if (node.output === undefined) return;
  await until(`the line ${name}`, () => node.output?.().includes(`${name}: `) === true, millisecondsMax);
};

/** Waits until a node has neither the note nor its metric. */
export const untilNoNote = async (name: NoteName, node: Node, millisecondsMax?: number): Promise<void> => {
  const isGone = async (): Promise<boolean> => {
    const { isNoted, isMeasured } = await read(name, node);
    return !isNoted && !isMeasured;
  };
  await until(`the end of the note ${name}`, isGone, millisecondsMax);
};
