/**
 * Judges the points of the history: each lies between what readers saw and what was sent. Pure.
 */

import type { FinalState } from './final-states.ts';
import { countBefore, sortMarks } from './judge.ts';
import type { Lie } from './lies.ts';
import type { ProveLog } from './prove-log.ts';

/** A point of the history is right to about two seconds; a busy machine gets more. */
const sampleMs = 5_000;
const stepMsMax = 300_000;

/**
 * How late a sample may be: when no node or no SQL was there at its time, it is taken once both are, before
 * the next one is due.
 */
const findSampleMs = (
  { unanswered, withoutRoom }: ProveLog,
  [first, second]: FinalState['history'],
): number => {
  if (unanswered === 0 && withoutRoom.length === 0) return sampleMs;
  return sampleMs + (first !== undefined && second !== undefined ? second.atMs - first.atMs : stepMsMax);
};

/** Each point of clicks lies between what readers had seen before it and what was sent by then. */
export const judgeHistory = (log: ProveLog, { listing, entries, history }: FinalState): Lie[] => {
  const lies: Lie[] = [];
  const sights = log.sights.filter(({ bot }) => bot === listing.id);
  const quiet = sights.findLast((sight) => sight.quiet);
  const sent = sortMarks(log.clicks.filter(({ bot }) => bot === listing.id).map(({ callMs }) => callMs));
  const logged = entries.at(-1)?.number;
  for (const { atMs, clicks, votesLogged } of history) {
    const isAfter = quiet !== undefined && atMs > quiet.returnMs;
    const seen = sights.filter(({ returnMs }) => returnMs < atMs - sampleMs).map((sight) => sight.clicks);
    const low = Math.max(0, ...seen);
    const high = countBefore(sent, atMs + findSampleMs(log, history));
    const where = `the history of bot ${listing.id} at ${new Date(atMs).toISOString()}`;
    const add = (name: string, what: string): void => {
      lies.push({ kind: 'history', name, text: `${where} has ${what}` });
    };
    if (clicks !== null && clicks < low) add('short', `${clicks} clicks of ${low}`);
    if (clicks !== null && clicks > high) add('doubled', `${clicks} clicks of ${high} sent`);
    if (isAfter && votesLogged !== null && logged !== undefined && votesLogged !== logged)
      add(votesLogged < logged ? 'short' : 'doubled', `${votesLogged} votes of ${logged}`);
  }
  return lies;
};
