/**
 * The shared hot store is emptied under two nodes. No node ever shows or counts from small numbers (I14),
 * and counting goes on by itself. Time limit: 600 s.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { nowMs, type Sight } from '../../../bench/prove/client-log.ts';
import { faultCase } from '../harness/fault-case.ts';
import { type Stack, untilFlushed } from '../harness/stack.ts';
import { acknowledged, underLoad } from '../harness/waits.ts';
import { type AwayFigures, duringEach, duringFault, onRedis } from './redis-away.ts';

const test = suite('redis emptied');

const connections = 16;
/** A node shows what another one counted after this time at the latest (I9). */
const staleMs = 1_000;
const ackedMin = 250;

/** FLUSHALL without traffic, when all is flushed: then nothing at all is lost. */
const runEmptiedAtRest = async (seed: number): Promise<AwayFigures> => {
  const figures = await onRedis({ seed, forgets: true }, async ({ stack, admin }) => {
    await underLoad(stack, connections, () => acknowledged(stack.log, 300));
    await untilFlushed(stack.stores);
    // Nodes notice with the first changes they send, and a click among those may count later.
    const fromMs = nowMs();
    await admin.flushall();
    const silence = await duringEach(stack, [async () => {}]);
    stack.log.withoutRoom.push({ fromMs, toMs: nowMs() });
    return silence;
  });
  assert.ok(figures.acked > ackedMin, `${figures.acked} acknowledged`);
  return figures;
};

/** FLUSHALL in the middle of everything: at most what was not flushed yet is lost, and never what SQL has. */
const runEmptiedUnderLoad = (seed: number, times: number): Promise<AwayFigures> =>
  onRedis({ seed, mayLose: true, forgets: true }, ({ stack, admin }) =>
    underLoad(stack, connections, async () => {
      let silenceMax = 0;
      for (let round = 0; round < times; round++) {
        const least = await clicksInSql(stack);
        await sleep(staleMs);
        const fromMs = nowMs();
        const silence = await duringFault(stack, async () => void (await admin.flushall()));
        silenceMax = Math.max(silenceMax, silence);
        assert.equal(smallNumbers(stack, least, fromMs), []);
        // Every entity is changed once more, so that nothing of the time before is left in SQL.
        await acknowledged(stack.log, 300);
      }
      return silenceMax;
    }),
  );

const clicksInSql = async ({ stores, directory }: Stack): Promise<ReadonlyMap<string, number>> => {
  const rows = await stores.sql<{ id: string; clicks: number }[]>`
    select entity_id as id, clicks from totals where kind = 'bot'`;
  const known = new Set(directory.bots);
  return new Map(rows.filter(({ id }) => known.has(id)).map(({ id, clicks }) => [id, clicks]));
};

/** What was shown since then, and is less than SQL had before. */
const smallNumbers = ({ log }: Stack, least: ReadonlyMap<string, number>, fromMs: number): string[] => {
  const small = ({ bot, callMs, clicks }: Sight): boolean =>
    callMs > fromMs && clicks < (least.get(bot) ?? 0);
  return log.sights.filter(small).map(({ bot, clicks }) => `${clicks} clicks of bot ${bot}`);
};

faultCase(test, {
  title: 'at rest: all comes back from SQL under a new generation, and counting goes on from there',
  name: 'Redis emptied at rest',
  counts: { quick: 1, faults: 1 },
  run: ({ seed }) => runEmptiedAtRest(seed),
});

faultCase(test, {
  title: 'under load: nothing less than SQL had is ever shown, nothing counts twice',
  name: 'Redis emptied under load',
  counts: { faults: 4 },
  run: ({ seed, count }) => runEmptiedUnderLoad(seed, count),
});

test.run();
