/**
 * Postgres stopped `immediate` again and again while flushers work: what is flushed twice, torn off or
 * refused in between must not show in the end (I10, I11). Called by its test and, with full counts, by its
 * fault run.
 */
import * as assert from 'uvu/assert';
import { connectSql } from '../../../storage/sql/client.ts';
import { migrate } from '../../../storage/sql/migrate.ts';
import { startPostgres } from '../../support/postgres-server.ts';
import { openFlushLoad } from './flush-load.ts';

export interface OutageFigures {
  readonly stops: number;
  readonly votes: number;
  readonly clicks: number;
  readonly failedRounds: number;
  /** From the server's return to the first round that succeeds. */
  readonly recoveryMsMax: number;
}

const sleep = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));
const recoveryMsLimit = 30_000;

/** Runs the whole thing on a server of its own; throws when a promise is broken. */
export const surviveStops = async (stops: number): Promise<OutageFigures> => {
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
      while (load.flushers.some((one) => one.getLastError() !== null)) {
        assert.ok(
          performance.now() - backMs < recoveryMsLimit,
          'flushing goes on soon after the server is back',
        );
        await sleep(5);
      }
      recoveryMsMax = Math.max(recoveryMsMax, performance.now() - backMs);
    }
    await running.stop();
    const { votes, clicks } = await load.settle();
    const failedRounds = [...load.failures].reduce((sum, [, times]) => sum + times, 0);
    assert.equal([...load.failures.keys()], failedRounds > 0 ? ['unreachable'] : []);
    await load.close();
    return { stops, votes, clicks, failedRounds, recoveryMsMax: Math.round(recoveryMsMax) };
  } finally {
    await server.close();
  }
};
