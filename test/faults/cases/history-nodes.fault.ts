/**
 * The history while nodes and Postgres fail: nodes that are killed between and within the steps of a sample,
 * two nodes at one instant, Postgres away, older, or without room, a wrong clock; and what a sample costs the
 * flush beside it.
 *
 * Nodes are processes that run the job of one instant (history-job-main.ts). After each case every row of
 * every level is what a naive model gives, and the times without a sample are holes. Time limit: 1200 s.
 */
import { execFileSync } from 'node:child_process';
import { renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { assertIncludes } from '../../support/assert-includes.ts';
import { startPostgres } from '../../support/postgres-server.ts';
import { faultCase } from '../harness/fault-case.ts';
import { fillDisk, onSmallDisk } from '../harness/small-disk.ts';
import { judgeHistory, judgeMonth } from './history-model.ts';
import {
  beginInstant,
  castVotes,
  dieWhile,
  finishInstant,
  type HistoryWorld,
  measureFlushBeside,
  openHistoryWorld,
  runInstant,
  runNode,
  skipInstant,
  stepMinutes,
} from './history-world.ts';
import { littleLog } from './postgres-away.ts';

const test = suite('history of nodes that fail');
/** Before the end of an hour, a day and a month. */
const start = Date.UTC(2026, 2, 31, 22, 35) / 60_000;

/** Opens servers and closes them after the task. */
const withWorld = async <Result>(
  options: { readonly seed: number; readonly parent?: string; readonly from?: number },
  task: (world: HistoryWorld) => Promise<Result>,
): Promise<Result> => {
  const { seed, parent, from = start } = options;
  const server = await startPostgres({ settings: littleLog, ...(parent !== undefined && { parent }) });
  try {
    const world = await openHistoryWorld(server, { seed, from });
    return await task(world).finally(() => world.close());
  } finally {
    await server.close();
  }
};

faultCase(test, {
  title: 'kill -9 between and within the steps: two survivors at once write what one node writes',
  name: 'kill -9 of nodes that sample',
  counts: { faults: 24 },
  run: ({ seed, count }) =>
    withWorld({ seed }, async (world) => {
      let kills = 0;
      for (let instant = 0; instant < count; instant++) {
        const deaths = instant === 0 ? 0 : world.random.integer(0, 2);
        kills += await runInstant(world, deaths);
      }
      const rows = await judgeHistory(world);
      return { instants: count, kills, rows };
    }),
});

faultCase(test, {
  title: 'kill -9 while a month is archived: the archive has the votes that were cast in it, to the digit',
  name: 'kill -9 of nodes that archive a month',
  counts: { faults: 6 },
  run: ({ seed, count }) =>
    withWorld({ seed }, async (world) => {
      const cast = await castVotes(world);
      const late = await castVotes(world, 500);
      let kills = 0;
      for (const day of [1, 2]) {
        const dueAtMs = Date.UTC(2026, 3, day, 0, 20);
        for (let death = 0; death < count; death++)
          kills += await dieWhile(world, { job: 'vote_months', dueAtMs });
        // The last one may have died after all was written.
        const last = await runNode(world, { job: 'vote_months', dueAtMs }).ended;
        assertIncludes(['done', 'not run'], last, last);
        // Votes that were flushed after the first archive are in the second one.
        if (day === 1) await late.flush();
        await judgeMonth(world, day === 1 ? cast.votes : [...cast.votes, ...late.votes]);
      }
      return { kills, votes: cast.votes.length + late.votes.length };
    }),
});

faultCase(test, {
  title: 'Postgres away for ten minutes: the times are holes, and the next sample has all changes',
  name: 'Postgres away while nodes sample',
  run: ({ seed }) =>
    withWorld({ seed }, async (world) => {
      for (let instant = 0; instant < 3; instant++) await runInstant(world);
      await world.server.stop('immediate');
      for (let instant = 0; instant < 2; instant++) {
        const { ended } = runNode(world, { job: 'history', dueAtMs: skipInstant(world) });
        assert.is(await ended, 'failed');
      }
      await world.server.start();
      for (let instant = 0; instant < 3; instant++) await runInstant(world);
      return { holes: 2, rows: await judgeHistory(world) };
    }),
});

faultCase(test, {
  title: 'an older Postgres: what it lost are holes, and the history goes on from there',
  name: 'an older Postgres while nodes sample',
  run: ({ seed }) =>
    withWorld({ seed }, async (world) => {
      const files = join(world.server.folder, 'data');
      for (let instant = 0; instant < 4; instant++) await runInstant(world);
      await world.server.stop('fast');
      execFileSync('cp', ['-a', files, `${files}.copy`]);
      await world.server.start();
      const lost: number[] = [];
      for (let instant = 0; instant < 4; instant++) {
        lost.push(world.nextAt);
        await runInstant(world);
      }
      await world.server.stop('fast');
      renameSync(files, `${files}.newer`);
      renameSync(`${files}.copy`, files);
      await world.server.start();
      for (const at of lost) world.seen.delete(at);
      for (let instant = 0; instant < 4; instant++) await runInstant(world, 1);
      return { holes: lost.length, rows: await judgeHistory(world) };
    }),
});

const diskBytes = 160 * 2 ** 20;

faultCase(test, {
  title: 'a full disk: a sample writes all of a step or nothing, and continues when there is room',
  name: 'history without room',
  run: ({ seed }) =>
    onSmallDisk('history without room', diskBytes, (disk) =>
      withWorld({ seed, parent: disk }, async (world) => {
        for (let instant = 0; instant < 2; instant++) await runInstant(world);
        const run = await beginInstant(world);
        const ballast = fillDisk(disk);
        const outcome = await runNode(world, run).ended;
        rmSync(ballast);
        await world.server.stop('immediate');
        await world.server.start();
        assert.is(outcome, 'failed');
        await finishInstant(world, run);
        for (let instant = 0; instant < 3; instant++) await runInstant(world);
        return { rows: await judgeHistory(world) };
      }),
    ),
});

faultCase(test, {
  title: 'a node whose clock is an hour ahead or behind runs no sample, and the others go on',
  name: 'clock of a node that samples',
  once: true,
  run: ({ seed }) => {
    const from = Math.floor(Date.now() / 60_000 / stepMinutes) * stepMinutes - 6 * stepMinutes;
    return withWorld({ seed, from }, async (world) => {
      for (let instant = 0; instant < 5; instant++) {
        await runInstant(world);
        for (const offsetMs of [3_600_000, -3_600_000]) {
          const dueAtMs = Math.floor((Date.now() + offsetMs) / 300_000) * 300_000;
          const { ended } = runNode(world, { job: 'history', dueAtMs });
          assert.is(await ended, 'not run', `a clock ${offsetMs} ms off`);
        }
      }
      return { rows: await judgeHistory(world) };
    });
  },
});

faultCase(test, {
  title: 'flush rounds and reads go on beside samples of 100,000 listings (figures only: target 50 ms more)',
  name: 'flush and reads beside samples',
  once: true,
  run: ({ seed }) =>
    withWorld({ seed }, async (world) => {
      const { alone, beside, samples } = await measureFlushBeside(world, 100_000);
      assert.ok(samples > 0 && beside.flushMsP99 > 0 && beside.readMsP99 > 0);
      return {
        samples,
        flushMsP99: alone.flushMsP99,
        flushMsP99Beside: beside.flushMsP99,
        readMsP99: alone.readMsP99,
        readMsP99Beside: beside.readMsP99,
      };
    }),
});

test.run();
