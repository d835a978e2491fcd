/**
 * Whether this process has file descriptors left for work on files.
 *
 * Without them SQL fails with the codes of damaged files ("could not create file: File exists"), although
 * nothing is damaged. SQL closes files before its error arrives here, and clients may have left: so a few
 * free descriptors count as none, and a lack counts for 10 s. Called when SQL reports damage, and by
 * ops/watch/descriptor-watch.ts.
 */
import { closeSync, openSync } from 'node:fs';
import { devNull } from 'node:os';

const freeMin = 32;
const holdsMs = 10_000;

let lackedMs = Number.NEGATIVE_INFINITY;

/** Whether this process can open so many more files now; tries it. */
export const canOpenFiles = (count: number): boolean => {
  const open: number[] = [];
  try {
    while (open.length < count) open.push(openSync(devNull, 'r'));
  } catch {
    // EMFILE, or ENFILE for the whole machine: the number of opened files shows it.
    lackedMs = performance.now();
  }
  for (const descriptor of open) closeSync(descriptor);
  return open.length === count;
};

/** Whether fewer than 32 are free, or were at a call within 10 s. */
export const hasFewDescriptors = (): boolean =>
  !canOpenFiles(freeMin) || performance.now() - lackedMs < holdsMs;

/** What to say to the operator. */
export const descriptorAdvice =
  'This process has hardly any file descriptors left, so new connections wait and work on files fails ' +
  'until others end. Nothing is damaged. Raise the limit (ulimit -n, LimitNOFILE of systemd) and start the ' +
  'server again';
