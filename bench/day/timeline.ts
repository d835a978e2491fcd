/**
 * A directory's day in a few minutes, as shares of its length: how many requests come, and what happens.
 * Pure.
 *
 * The first and the last tenth have the same rate, so that they can be compared; from `steadyFrom` on it does
 * not change, so that memory can be judged there.
 */
import type { Pace } from '../prove/drive.ts';

interface Phase {
  readonly name: string;
  /** Where it ends. */
  readonly until: number;
  /** Of the highest rate. */
  readonly share: number;
}

const hug = 'a hug of one bot';
const phases: readonly Phase[] = [
  { name: 'morning', until: 0.1, share: 0.4 },
  { name: 'noon', until: 0.25, share: 0.6 },
  { name: hug, until: 0.32, share: 1 },
  { name: 'evening', until: 0.42, share: 0.8 },
  { name: 'night', until: 0.5, share: 0.15 },
  { name: 'next morning', until: 1, share: 0.4 },
];

/** When each happens, on the first day. */
export const moments = { restart: 0.13, upgrade: 0.17, monthsEnd: 0.46 } as const;
/** From here on nothing changes: servers have seen peaks since they started, and this rate. */
export const steadyFrom = 0.55;
export const firstTenth = { from: 0, to: 0.1 } as const;
export const lastTenth = { from: 0.9, to: 1 } as const;

/** Of days that follow each other; before the first it is morning. */
const findPhase = (at: number): Phase =>
  phases.find(({ until }) => Math.max(0, at) % 1 < until) ?? (phases.at(-1) as Phase);

/** What the clients do after so many days. */
export const paceAt = (at: number): Pace => {
  const { name, share } = findPhase(at);
  return { share, isHugged: name === hug };
};

export const nameOf = (at: number): string => findPhase(at).name;
