/**
 * The plan of one seed: how many nodes, which faults, which operator actions, how much load.
 *
 * Drawn once before anything runs, so that a plan can be printed and read; it never changes. Some plans are
 * calm: their results must be exact.
 */

import type { Random } from '../../bench/shared/random.ts';
import type { CommitRules } from '../../engine/entity/items.ts';
import { type FaultProfile, faultless } from './faults.ts';

export interface Plan {
  readonly nodes: number;
  readonly clients: number;
  readonly opsPerClient: number;
  /** Processes of one bot that post its shards. */
  readonly posters: number;
  readonly hot: FaultProfile;
  readonly ledger: FaultProfile;
  readonly crashes: number;
  readonly jumps: number;
  readonly edits: number;
  readonly voids: number;
  readonly resets: number;
  readonly removals: number;
  /** Times the hot store loses everything, or its newest part. */
  readonly emptied: number;
  readonly rolledBack: number;
  /** Votes of one user can never be stored in SQL. */
  readonly poisonedUser: boolean;
  readonly actorsMax: number;
  /** Wall time at the start. */
  readonly epochMs: number;
}

export const rules: CommitRules = {
  windows: {
    standard: { waitMs: 1_500, perUser: 1 },
    premium: { waitMs: 600, perUser: 1 },
    weekend: { waitMs: 900, perUser: 2 },
  },
  uptime: { checkMs: 1_000, freshMs: 3_000, downtimes: [] },
  parts: { staleMs: 2_000, goneMs: 60_000, switchMs: 1_200 },
  visitorsMax: 1_000_000,
};

const dayMs = 86_400_000;
const monday = Date.UTC(2026, 0, 5);

const drawProfile = (random: Random, heat: number): FaultProfile => {
  const rate = (most: number): number => (random.chance(0.6) ? random.next() * most * heat : 0);
  return {
    delayMaxMs: random.pick([0, 2, 5, 20]),
    slowMaxMs: random.pick([50, 400, 2_500]),
    slow: rate(0.1),
    refused: rate(0.12),
    replyLost: rate(0.12),
    callLost: rate(0.08),
    late: rate(0.08),
    again: rate(0.12),
  };
};

/** Some wall times near the edges of a weekend, most anywhere. */
const drawEpoch = (random: Random): number => {
  const day = monday + random.integer(0, 20) * dayMs;
  return random.chance(0.5) ? day - random.integer(0, 4_000) : day + random.integer(0, dayMs);
};

/** `fixed` is not drawn, so that every seed keeps its history. */
export const drawPlan = (random: Random, fixed: Pick<Plan, 'posters'>): Plan => {
  const isFaultless = random.chance(0.12);
  const heat = isFaultless ? 0 : random.pick([0.3, 1, 1, 1.6]);
  const times = (probability: number, most: number): number =>
    !isFaultless && random.chance(probability) ? random.integer(1, most) : 0;
  const emptied = times(0.12, 1);
  // A removal just before the store is lost, during a slow read of its row, may be undone, because its only
  // trace in the hot store is lost too. So a plan has only one of the two.
  const removals = emptied > 0 ? 0 : times(0.3, 3);
  return {
    nodes: random.pick([1, 1, 2, 2, 3]),
    clients: random.integer(4, 9),
    opsPerClient: random.integer(10, 26),
    ...fixed,
    hot: isFaultless ? faultless : drawProfile(random, heat),
    ledger: isFaultless ? faultless : drawProfile(random, heat),
    crashes: times(0.45, 3),
    jumps: times(0.3, 3),
    edits: times(0.4, 5),
    voids: times(0.3, 4),
    resets: times(0.2, 2),
    removals,
    emptied,
    rolledBack: times(0.12, 2),
    poisonedUser: times(0.15, 1) > 0,
    actorsMax: random.pick([1, 2, 3, 100]),
    epochMs: drawEpoch(random),
  };
};
