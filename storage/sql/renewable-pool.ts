/**
 * A pool whose connections can be replaced all at once, for the driver cannot end one of them.
 *
 * Needed where connections are dead and nothing said so (a firewall forgot them), and where they lead to a
 * standby although the server's name may lead to the primary by now. What the old connections do may end
 * within seconds; then they are closed.
 */
import { connectAgain, type Pool, type Sql } from './client.ts';

/** A server that stays read-only costs new connections this often. */
const renewEveryMs = 10_000;
export const closeSecondsMax = 5;

export const createRenewablePool = (first: Pool) => {
  let pool = first;
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
      const former = pool;
      pool = connectAgain(former);
      void former.sql.end({ timeout: closeSecondsMax });
    },
    close: (): Promise<void> => pool.sql.end({ timeout: closeSecondsMax }),
  };
};
