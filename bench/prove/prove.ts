/**
 * One run of `prove`: looks at the server, drives it while something is done to it, waits for quiet, judges.
 */
import type { Random } from '../shared/random.ts';
import { nowMs } from './client-log.ts';
import { type Pace, startDrive } from './drive.ts';
import { readFinalStates } from './final-states.ts';
import { type Follower, startFollower } from './followers.ts';
import { createProveLog, type ProveLog } from './prove-log.ts';
import { openSubject, type SubjectOptions } from './subject.ts';
import { judgeRun, type Proof } from './verdict.ts';
import { openReceiver } from './webhook-receiver.ts';

export interface ProveOptions extends SubjectOptions {
  readonly random: Random;
  /** Requests a second; the most of them where there is a pace. */
  readonly rate: number;
  readonly pace?: () => Pace;
  /** How long to wait for a sample of the history at the end, in milliseconds. */
  readonly historyMs: number;
  /** Runs under the load, which ends with it; `isFull` says that the log takes no more. */
  readonly meanwhile: (isFull: () => boolean, log: ProveLog) => Promise<void>;
  /** What is going on, for the terminal. */
  readonly show?: (text: string) => void;
}

/** Resolves to the verdict; rejects when the server cannot be driven at all. */
export const prove = async (options: ProveOptions): Promise<Proof> => {
  const { historyMs, meanwhile, firstId, show = () => {} } = options;
  const subject = await openSubject(options);
  const log = createProveLog(firstId);
  const receiver = await openReceiver(subject);
  let follower: Follower | null = null;
  try {
    follower = subject.has.has('feed') ? await startFollower(subject, log) : null;
    const startMs = nowMs();
    show('driving …');
    const drive = startDrive({ ...options, subject, log });
    await meanwhile(drive.isFull, log).finally(drive.stop);
    show('waiting for quiet …');
    const finalStates = await readFinalStates({ subject, log, follower, receiver, historyMs }, startMs);
    return judgeRun(log, { subject, finalStates, wrong: receiver.wrong });
  } finally {
    await follower?.stop();
    await receiver.close();
    subject.client.close();
  }
};
