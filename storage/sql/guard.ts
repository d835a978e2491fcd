/**
 * Puts a guard (a breaker, a watch for damage) in front of a pool: every statement and transaction passes it.
 *
 * A statement of `postgres` starts when somebody waits for it, so that is the moment that is guarded; as a
 * part of another statement it passes untouched. What runs inside a transaction is guarded by the
 * transaction.
 */
import type { Breaker } from './breaker.ts';
import type { Sql } from './client.ts';

type Statement = Promise<unknown>;
/** What each statement and transaction passes. */
export type Guard = Pick<Breaker, 'pass'>;

/** The same pool, guarded. */
export const guardSql = (sql: Sql, breaker: Guard): Sql =>
  new Proxy(sql, {
    apply: (target, self, words) => guardStatement(Reflect.apply(target, self, words), breaker),
    get: (target, name) => {
      if (name === 'begin')
        return (...words: Parameters<Sql['begin']>) => breaker.pass(() => target.begin(...words));
      if (name === 'unsafe')
        return (...words: Parameters<Sql['unsafe']>) => guardStatement(target.unsafe(...words), breaker);
      return Reflect.get(target, name);
    },
  });

/** Identifiers and lists of values, which the same tag makes, are no statements. */
const guardStatement = <Made>(made: Made, breaker: Guard): Made => {
  if (!(made instanceof Promise)) return made;
  const start = made.then.bind(made) as Statement['then'];
  let running: Statement | null = null;
  const guarded = (): Statement => {
    running ??= breaker.pass(
      () => new Promise((resolve, reject) => void start(resolve, reject)) as Promise<unknown>,
    );
    return running;
  };
  return Object.assign(made, {
    // biome-ignore lint/suspicious/noThenProperty: a statement starts when it is waited for.
    then: (...words: Parameters<Statement['then']>) => guarded().then(...words),
    catch: (...words: Parameters<Statement['catch']>) => guarded().catch(...words),
    finally: (...words: Parameters<Statement['finally']>) => guarded().finally(...words),
  });
};
