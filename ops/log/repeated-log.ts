/**
 * A log of failures in the background that repeat: while a store is away, its clients report that several
 * times a second, and each job that needs it fails at each of its times.
 *
 * The first failure of a kind is written at once; the same one again at most once a minute, with how often it
 * happened since.
 */
import type { Clock } from '../../engine/ports.ts';

export const repeatMs = 60_000;
/** Kinds that are remembered; messages are constants and jobs are few, so there are less. */
const kindsMax = 200;

/** A kind is a message, of a job if `details` name one. */
export type RepeatedLog = (message: string, details: Readonly<Record<string, string>>) => void;

export const createRepeatedLog = (
  write: (details: object, message: string) => void,
  clock: Pick<Clock, 'monotonicMs'>,
): RepeatedLog => {
  const kinds = new Map<string, { readonly writtenMs: number; suppressed: number }>();
  return (message, details) => {
    const kind = `${message} ${details.job}`;
    const nowMs = clock.monotonicMs();
    const last = kinds.get(kind);
    if (last !== undefined && nowMs - last.writtenMs < repeatMs) {
      last.suppressed++;
      return;
    }
    if (last === undefined && kinds.size >= kindsMax) kinds.clear();
    kinds.set(kind, { writtenMs: nowMs, suppressed: 0 });
    const { suppressed = 0 } = last ?? {};
    write(suppressed === 0 ? details : { ...details, suppressed }, message);
  };
};
