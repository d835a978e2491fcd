/**
 * Puts something in front of a pool that every statement and transaction passes: a breaker, a watch for
 * damage, the admission.
 *
 * A statement of `postgres` starts when somebody waits for it, so that is the moment that is guarded; as a
 * part of another statement it passes untouched. What runs inside a transaction is guarded by the
 * transaction.
 */
import type postgres from 'postgres';
import type { Admission, Kind, Line } from './admission.ts';
import type { CircuitBreaker } from './circuit-breaker.ts';

/** As client.ts has it, which uses this file. */
type Sql = postgres.Sql<{ bigint: number }>;
type Statement = Promise<unknown>;
type Pass = <Result>(kind: Kind, work: () => PromiseLike<Result>) => Promise<Result>;
/** What each statement and transaction passes. */
export type Guard = Pick<CircuitBreaker, 'run'>;

/** The same pool, guarded. */
export const guardSql = (sql: Sql, guard: Guard): Sql => passSql(sql, (_kind, work) => guard.run(work));

/** The same pool, whose work waits in this line of the admission. */
export const admitSql = (sql: Sql, admission: Admission, line: Line): Sql =>
  passSql(sql, (kind, work) => admission.admit(line, kind, work));

const passSql = (sql: Sql, pass: Pass): Sql =>
  new Proxy(sql, {
    apply: (target, self, words) => guardStatement(Reflect.apply(target, self, words), pass),
    get: (target, name) => {
      if (name === 'begin')
        return (...words: Parameters<Sql['begin']>) => pass('transaction', () => target.begin(...words));
      if (name === 'unsafe')
        return (...words: Parameters<Sql['unsafe']>) => guardStatement(target.unsafe(...words), pass);
      return Reflect.get(target, name);
    },
  });

/** Identifiers and lists of values, which the same tag makes, are no statements. */
const guardStatement = <Made>(made: Made, pass: Pass): Made => {
  if (!(made instanceof Promise)) return made;
  const start = made.then.bind(made) as Statement['then'];
  let running: Statement | null = null;
  const guarded = (): Statement => {
    running ??= pass(
      'statement',
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
