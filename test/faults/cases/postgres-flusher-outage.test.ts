/**
 * Stops Postgres (`immediate`) again and again while flushers work: writes that are repeated, interrupted or
 * refused must not show in the end (I10, I11). Time limit: 600 s.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { connectSql } from '../../../storage/sql/client.ts';
import { migrate } from '../../../storage/sql/migrate.ts';
import { openFlushLoad } from '../../storage/postgres/flush-load.ts';
import { startPostgres } from '../../support/postgres-server.ts';
import { faultCase } from '../harness/fault-case.ts';

const test = suite('outage of postgres under flushers');

interface OutageFigures {
  readonly stops: number;
  readonly votes: number;
  readonly clicks: number;
  readonly failedRounds: number;
  /** The longest time from the server's return to the first successful round, ms. */
  readonly recoveryMsMax: number;
}

const sleep = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));
const recoveryMsLimit = 30_000;

/** Runs the load and the stops on a server of its own. Throws when an invariant is broken. */
const surviveStops = async (stops: number): Promise<OutageFigures> => {
  const server = await startPostgres();
  try {
    const address = await server.database('outage');
    const sql = connectSql(address);
    await migrate(sql);
    await sql.end();
    const load = await openFlushLoad({ address, flushers: 2, entities: 40 });
    const running = load.flow();
    let recoveryMsMax = 0;
    for (let count = 0; count < stops; count++) {
      await sleep(40 + ((count * 37) % 160));
      await server.stop('immediate');
      await sleep((count % 3) * 120);
      await server.start();
      const backMs = performance.now();
      while (load.flushers.some((flusher) => flusher.getLastError() !== null)) {
        assert.ok(
          performance.now() - backMs < recoveryMsLimit,
          'flushing continues soon after the server is back',
        );
        await sleep(5);
      }
      recoveryMsMax = Math.max(recoveryMsMax, performance.now() - backMs);
    }
    await running.stop();
    const { votes, clicks } = await load.finish();
    const failedRounds = [...load.failures].reduce((sum, [, times]) => sum + times, 0);
    assert.equal([...load.failures.keys()], failedRounds > 0 ? ['unreachable'] : []);
    await load.close();
    return { stops, votes, clicks, failedRounds, recoveryMsMax: Math.round(recoveryMsMax) };
  } finally {
    await server.close();
  }
};

faultCase(test, {
  title: 'stopped during flushes: no count is lost, doubled or lowered, and flushing goes on by itself',
  name: 'Postgres stopped immediate under flushers',
  counts: { quick: 3, faults: 20 },
  once: true,
  run: async ({ count }) => {
    const figures = await surviveStops(count);
    const { stops, votes, failedRounds } = figures;
    const failedMin = count === 3 ? 1 : count;
    assert.is(stops, count);
    assert.ok(votes > 50 && failedRounds >= failedMin, JSON.stringify(figures));
    return figures;
  },
});

test.run();
