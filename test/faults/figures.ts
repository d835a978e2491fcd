/**
 * Prints the figures of a fault test on one line, always in the same form, to be copied into
 * docs/reliability.md.
 */
import type { Verdict } from './judge.ts';

export interface Figures {
  readonly acked: number;
  readonly lost: number;
  readonly doubled: number;
  readonly unknown: number;
  readonly rounds: number;
  readonly seconds: number;
}

/** `figures: kill -9 under load | acked 1 | lost 0 | …`. */
export const printFigures = (
  name: string,
  figures: Figures,
  more: Readonly<Record<string, string | number>> = {},
): void => {
  const seconds = figures.seconds.toFixed(1);
  const all = Object.entries({ ...figures, seconds, ...more }).map(([word, value]) => `${word} ${value}`);
  console.log(`\nfigures: ${[name, ...all].join(' | ')}`);
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

export const noFigures: Figures = { acked: 0, lost: 0, doubled: 0, unknown: 0, rounds: 0, seconds: 0 };

export const addFigures = (one: Figures, other: Figures): Figures => ({
  acked: one.acked + other.acked,
  lost: one.lost + other.lost,
  doubled: one.doubled + other.doubled,
  unknown: one.unknown + other.unknown,
  rounds: one.rounds + other.rounds,
  seconds: one.seconds + other.seconds,
});
