/**
 * The ordinary client's process: every 50 ms, on one connection, it reads one bot's page and posts one bot's
 * stats, one after the other, until its parent says stop; then it sends its log back, and ends. A process of
 * its own, so that its waits are the server's and not those of busy attackers.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { type ClientLog, createLog } from '../../../bench/prove/client-log.ts';
import { createClient, NoAnswer } from '../../../bench/shared/http-client.ts';
import { createRandom } from '../../../bench/shared/random.ts';
import type { Directory } from '../../support/directory.ts';
import { timeWork } from '../harness/core-time.ts';
import { click, type LoadParts, postStats } from '../harness/load.ts';

/** What the process is started with. */
export interface Ordinary {
  readonly url: string;
  readonly directory: Directory;
  readonly nextId: number;
  readonly life: number;
  readonly seed: number;
  /** The node's process. */
  readonly pid: number;
}

/** What it sends back. */
export interface OrdinaryLog {
  readonly log: ClientLog;
  /**
   * How long each request took without the time for which the node's main thread, or this process, was ready
   * and had no core: attackers on the same machine take those.
   */
  readonly ownMs: readonly number[];
}

const everyMs = 50;

const [words = '{}'] = process.argv.slice(2);
const { url, directory, nextId, life, seed, pid } = JSON.parse(words) as Ordinary;
const log = { ...createLog(), nextId, life };
const client = createClient(1);
const ownMs: number[] = [];
const timed = async (step: typeof click): Promise<unknown> => {
  let answer: unknown;
  const work = async (): Promise<void> => {
    answer = await step(parts);
  };
  ownMs.push((await timeWork(pid, work)).ownMs);
  return answer;
};
const parts: LoadParts = { url, client, directory, log, random: createRandom(seed), connections: 1 };
let stopped = false;
process.on('message', () => {
  stopped = true;
});
process.on('disconnect', () => process.exit(1));

for (let turn = 0; !stopped; turn++) {
  const beganMs = performance.now();
  const answers = [await timed(click), await timed(postStats)];
  // A connection that fails at once would fill the log.
  const failed = answers.some((answer) => answer instanceof NoAnswer);
  const leftMs = everyMs - (performance.now() - beganMs);
  if (failed || leftMs > 0) await sleep(failed ? everyMs : leftMs);
  if (turn === 0) process.send?.('begun');
}
client.close();
process.send?.({ log, ownMs } satisfies OrdinaryLog, () => process.exit(0));
