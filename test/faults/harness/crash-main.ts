/**
 * The program with crash points: `CRASH_AT=name:n` ends the process by SIGKILL at the n-th passage of a
 * named point of crash-points.ts. Wires the same node as ops/main.ts, with both ports wrapped; the product
 * is unchanged.
 *
 * `POISON_USER=id` makes SQL refuse that user's votes for good, so that they become dead letters;
 * `SLOW_COMMIT_MS=n` makes the hot store that much slower, so that requests are certainly in flight. Started
 * by crash.ts and life.ts.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { StorageError } from '../../../engine/errors.ts';
import type { HotStore, Ledger } from '../../../engine/ports.ts';
import { readConfig } from '../../../ops/config/config.ts';
import { start } from '../../../ops/rollcall.ts';
import { type HotVerb, hotVerbs, type LedgerVerb, ledgerVerbs } from './crash-points.ts';
import { printWelcome } from './welcome.ts';

const [pointName, count] = (process.env.CRASH_AT ?? '').split(':');
let passagesLeft = Number(count ?? 1);

/** Passes a point; at the chosen passage the process is gone before the next instruction. */
const pass = (name: string): void => {
  if (name !== pointName) return;
  passagesLeft -= 1;
  if (passagesLeft > 0) return;
  process.kill(process.pid, 'SIGKILL');
  // The signal is delivered when the kernel sees fit: nothing may run until then.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
};

type Call = (...words: unknown[]) => Promise<unknown>;

/** The port with a point before and after each of its verbs; `names` tells all points of one call. */
const withPoints = <Port extends object>(
  port: Port,
  verbs: readonly (keyof Port & string)[],
  names: (verb: string, words: readonly unknown[]) => readonly string[],
): Port => {
  const wrapped = verbs.map((verb): [string, Call] => [
    verb,
    async (...words) => {
      const points = names(verb, words);
      for (const name of points) pass(`before-${name}`);
      const result = await (port[verb] as Call).apply(port, words);
      for (const name of points) pass(`after-${name}`);
      return result;
    },
  ]);
  return { ...port, ...(Object.fromEntries(wrapped) as Partial<Port>) };
};

const hotNames = (verb: string, words: readonly unknown[]): readonly string[] => {
  if (verb !== 'commit') return [`hot.${verb}`];
  const [batches] = words as Parameters<HotStore['commit']>;
  const kinds = new Set(batches.flatMap(({ items }) => items.map(({ kind }) => `hot.commit.${kind}`)));
  return ['hot.commit', ...kinds];
};

/** A row with this voter can never be stored, as far as the flusher can tell. */
const poisoned = (ledger: Ledger, user: string): Ledger => ({
  ...ledger,
  flush: (round) =>
    round.votes.some((vote) => vote.user === user)
      ? Promise.reject(new StorageError('ledger.flush', { outcome: 'not_applied', reason: 'row' }))
      : ledger.flush(round),
});

const slow = (hot: HotStore, delayMs: number): HotStore => ({
  ...hot,
  commit: async (batches, rules) => {
    await sleep(delayMs);
    return hot.commit(batches, rules);
  },
});

const sweepEveryMs = 200;

const fail = (error: unknown): never => {
  process.stderr.write(`${String(error)}\n`);
  process.exit(1);
};

const run = async (): Promise<void> => {
  const config = readConfig();
  const poison = process.env.POISON_USER ?? '';
  let sweeping: NodeJS.Timeout | undefined;
  const { url, adminUrl, demo, stop } = await start(config, {
    hot: (inner) => {
      const delayed = slow(inner, Number(process.env.SLOW_COMMIT_MS ?? 0));
      const hot = withPoints(delayed, Object.keys(hotVerbs) as HotVerb[], hotNames);
      // The node sweeps by itself once a minute, which is too seldom here.
      sweeping = setInterval(() => hot.sweep(Date.now()), sweepEveryMs).unref();
      return hot;
    },
    ledger: (inner) =>
      withPoints(
        poison === '' ? inner : poisoned(inner, poison),
        Object.keys(ledgerVerbs) as LedgerVerb[],
        (verb) => [`ledger.${verb}`],
      ),
  });
  printWelcome(config, { url, adminUrl, demo });
  process.on('SIGTERM', () => {
    clearInterval(sweeping);
    stop().then(() => process.exit(0), fail);
  });
};

run().catch(fail);
