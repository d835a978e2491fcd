/**
 * A pool whose connections can be replaced all at once, for the driver cannot end one of them.
 *
 * Needed where connections are dead and nothing said so (a firewall forgot them), where they lead to a
 * standby although the server's name may lead to the primary by now, and where the server takes none. The old
 * connections have seconds for the work that they and their queues have; then they are closed.
 */
import { connectAgain, type Pool, type Sql } from './client.ts';

/** A server that stays read-only costs new connections this often. */
const renewEveryMs = 10_000;
const closeSecondsMax = 5;

export const createRenewablePool = (first: Pool) => {
  let pool = first;
  let former: Pool | null = null;
  let renewedMs = Number.NEGATIVE_INFINITY;
  const follow = (line: keyof Pool): Sql =>
    new Proxy(first[line], {
      apply: (_first, self, args) => Reflect.apply(pool[line], self, args),
      get: (_first, name) => Reflect.get(pool[line], name),
    });
  return {
    sql: follow('sql'),
    requestSql: follow('requestSql'),
    /** Does nothing within `renewEveryMs` of the last time. */
    renew: (): void => {
      if (performance.now() - renewedMs < renewEveryMs) return;
      renewedMs = performance.now();
      const old = pool;
      pool = connectAgain(old);
      former = old;
      // Ended at once, the driver would leave statements that wait for a connection without any answer.
      setTimeout(() => void old.sql.end({ timeout: 0 }), closeSecondsMax * 1_000).unref();
    },
    close: async (): Promise<void> => {
      await Promise.all([former, pool].map((one) => one?.sql.end({ timeout: closeSecondsMax })));
    },
  };
};
