/**
 * Figures of a fault case: adds those of several runs, prints them as one JSON line, and throws where a
 * verdict is not clean.
 */
import type { Verdict } from '../../../bench/prove/judge.ts';

export interface Figures {
  readonly acked: number;
  readonly lost: number;
  readonly doubled: number;
  readonly unknown: number;
  readonly rounds: number;
  readonly seconds: number;
}

/** Rounds to hundredths, which is enough for any figure. */
export const round = (value: number): number => Math.round(value * 100) / 100;

/** Prints `figures: {"name":"kill -9","acked":1,"lost":0,…}`. */
export const printFigures = (name: string, figures: object): void => {
  const rounded = (_key: string, value: unknown): unknown =>
    typeof value === 'number' ? round(value) : value;
  console.log(`\nfigures: ${JSON.stringify({ name, ...figures }, rounded)}`);
};

/** Adds figures of the same case; of those whose name ends in `Max` the larger one counts. */
export const addFigures = <Some extends object>(one: Some, other: Some): Some => {
  const before = one as Readonly<Record<string, unknown>>;
  const added = Object.entries(other).map(([name, value]): [string, unknown] => {
    const first = before[name];
    if (typeof value !== 'number' || typeof first !== 'number') return [name, value];
    return [name, name.endsWith('Max') ? Math.max(first, value) : first + value];
  });
  return Object.fromEntries(added) as Some;
};

/** Runs one after the other; resolves to their figures together. */
export const addRuns = async <Item, Some extends object>(
  items: readonly Item[],
  run: (item: Item) => Promise<Some>,
): Promise<Some> => {
  let all: Some | null = null;
  for (const item of items) {
    const figures: Some = await run(item);
    all = all === null ? figures : addFigures(all, figures);
  }
  if (all === null) throw new Error('There is nothing to run.');
  return all;
};

const shownMax = 20;

/** Throws with everything that is wrong, by name. */
export const demandClean = (verdict: Verdict, more: readonly string[] = []): void => {
  const found = Object.entries(verdict).flatMap(([name, lines]) =>
    (lines as readonly string[]).map((line) => `${name}: ${line}`),
  );
  const all = [...found, ...more];
  if (all.length === 0) return;
  const rest = all.length > shownMax ? [`… and ${all.length - shownMax} more`] : [];
  throw new Error([`${all.length} faults found`, ...all.slice(0, shownMax), ...rest].join('\n  '));
};
