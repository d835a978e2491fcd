/**
 * Watches how far this node's clock is from the hot store's, where that is another machine's.
 *
 * A node that is too far off refuses votes (engine/limits.ts), and nothing but the refused voter would know:
 * so `/readyz` says it in its notes, the log when it begins and when it ends, and a gauge all the time. It
 * decides nothing: the store does, vote by vote, and the node stays ready. Not looking for a while, as with
 * Redis away, leaves what was seen last. Called by rollcall.ts.
 */
import { limits } from '../engine/limits.ts';
import type { Clock } from '../engine/ports.ts';

export interface ClockWatchParts {
  /** Wall time of each server of the store, ms; `null` where it has this machine's clock. */
  readonly storeClocks: (() => Promise<readonly number[]>) | null;
  readonly clock: Clock;
  /** Told how far this node's clock is ahead, ms; below 0 it is behind. */
  readonly onMeasured: (aheadMs: number) => void;
  readonly log: { warn(words: string): void; info(words: string): void };
}

export interface ClockWatch {
  /** Never rejects: that a store does not answer is told elsewhere. */
  look(): Promise<void>;
  /** Words while votes are refused for it. */
  listNotes(): readonly string[];
}

export const clockLookEveryMs = 5_000;

/** What the way there and back leaves open is counted in this node's favour. */
const computeAheadMs = (storeMs: number, sentMs: number, heardMs: number): number => {
  if (storeMs < sentMs) return sentMs - storeMs;
  return storeMs > heardMs ? heardMs - storeMs : 0;
};

const isRefusing = (aheadMs: number): boolean =>
  aheadMs > limits.clockAheadMaxMs || aheadMs < -limits.clockBehindMaxMs;

const describeAhead = (aheadMs: number): string => {
  const side = aheadMs > 0 ? 'ahead of' : 'behind';
  const limitMs = aheadMs > 0 ? limits.clockAheadMaxMs : limits.clockBehindMaxMs;
  const offMs = Math.abs(Math.round(aheadMs));
  return (
    `votes are refused: the clock of this node is ${offMs} ms ${side} that of Redis ` +
    `(${limitMs} ms are allowed); set whichever is wrong right (NTP)`
  );
};

interface RequestTimes {
  readonly sentMs: number;
  readonly receivedMs: number;
}

/** The one that is furthest off. */
const findWorst = (stores: readonly number[], { sentMs, receivedMs }: RequestTimes): number =>
  stores
    .map((storeMs) => computeAheadMs(storeMs, sentMs, receivedMs))
    .reduce((most, aheadMs) => (Math.abs(aheadMs) > Math.abs(most) ? aheadMs : most), 0);

/** To be told to look every `clockLookEveryMs`. */
export const createClockWatch = (parts: ClockWatchParts): ClockWatch => {
  const { storeClocks, clock } = parts;
  let note = '';
  const tell = (aheadMs: number): void => {
    const before = note;
    note = isRefusing(aheadMs) ? describeAhead(aheadMs) : '';
    if (note !== '' && before === '') parts.log.warn(note);
    if (note === '' && before !== '') parts.log.info('the clocks agree again: votes are taken');
  };
  const look = async (ask: () => Promise<readonly number[]>): Promise<void> => {
    const sentMs = clock.nowMs();
    const sentSteadyMs = clock.monotonicMs();
    const stores = await ask();
    // By steady time: a clock that jumps meanwhile is measured where it was.
    const receivedMs = sentMs + (clock.monotonicMs() - sentSteadyMs);
    const aheadMs = findWorst(stores, { sentMs, receivedMs });
    parts.onMeasured(aheadMs);
    tell(aheadMs);
  };
  return {
    look: () => (storeClocks === null ? Promise.resolve() : look(storeClocks).catch(() => {})),
    listNotes: () => (note === '' ? [] : [note]),
  };
};
