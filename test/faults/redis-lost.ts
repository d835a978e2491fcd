/**
 * The shared hot store is emptied under two nodes. No node ever shows or counts from small numbers (I14), and
 * counting goes on by itself.
 *
 * Used with small counts in `npm test` and with the promised ones in `npm run test:faults`.
 */
import * as assert from 'uvu/assert';
import { nowMs, type Sight } from './client-log.ts';
import { type AwayFigures, duringFault, onRedis, underLoad } from './redis-away.ts';
import { acknowledged, type Stack, until } from './stack.ts';

/** FLUSHALL while nothing is asked and all is flushed: then nothing at all is lost. */
export const runEmptiedAtRest = (seed: number): Promise<AwayFigures> =>
  onRedis({ seed, forgets: true }, async ({ stack, redis }) => {
    await underLoad(stack, async () => {
      await acknowledged(stack.log, 300);
      return 0;
    });
    await until('all is flushed', async () => {
      const { entities, votes } = await stack.stores.hot.countBacklog();
      return entities + votes === 0;
    });
    // Nodes hear of it with the first changes they send, and a click among those is nobody's.
    const fromMs = nowMs();
    await redis.flushall();
    return underLoad(stack, async () => {
      const silence = await duringFault(stack, async () => {});
      stack.log.withoutRoom.push({ fromMs, toMs: nowMs() });
      return silence;
    });
  });

/** FLUSHALL in the middle of everything: at most what was not flushed yet is lost, and never what SQL has. */
export const runEmptiedUnderLoad = (times: number, seed: number): Promise<AwayFigures> =>
  onRedis({ seed, mayLose: true, forgets: true }, ({ stack, redis }) =>
    underLoad(stack, async () => {
      let silenceMax = 0;
      for (let round = 0; round < times; round++) {
        const least = await clicksInSql(stack);
        const fromMs = nowMs();
        const silence = await duringFault(stack, async () => {
          await redis.flushall();
        });
        silenceMax = Math.max(silenceMax, silence);
        assert.equal(smallNumbers(stack, least, fromMs), []);
        await coolDown(stack);
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

/** Every entity is changed once more, so that nothing of the time before is left in SQL. */
const coolDown = ({ log }: Stack): Promise<void> => acknowledged(log, 300);
