/**
 * Wraps a pool so that every statement and transaction passes a guard: the circuit breaker, the damage watch
 * or the admission.
 *
 * A statement of `postgres` starts when it is awaited, so the guard begins there; a statement used as a part
 * of another one is not guarded. Statements inside a transaction are covered by the transaction.
 */
import type postgres from 'postgres';
import type { Admission, Kind, Line } from './admission.ts';
import type { CircuitBreaker } from './circuit-breaker.ts';

/** The same type as in client.ts, which imports this file. */
type Sql = postgres.Sql<{ bigint: number }>;
type Statement = Promise<unknown>;
type Pass = <Result>(kind: Kind, work: () => PromiseLike<Result>) => Promise<Result>;
/** Runs every statement and transaction. */
export type Guard = Pick<CircuitBreaker, 'run'>;

/** Wraps a pool with a guard. */
export const guardSql = (sql: Sql, guard: Guard): Sql => wrapSql(sql, (_kind, work) => guard.run(work));

/** Wraps a pool so that its work waits in one queue of the admission. */
export const admitSql = (sql: Sql, admission: Admission, line: Line): Sql =>
  wrapSql(sql, (kind, work) => admission.admit(line, kind, work));

const wrapSql = (sql: Sql, pass: Pass): Sql =>
  new Proxy(sql, {
    apply: (target, self, args) => guardStatement(Reflect.apply(target, self, args), pass),
    get: (target, name) => {
      if (name === 'begin')
        return (...args: Parameters<Sql['begin']>) => pass('transaction', () => target.begin(...args));
      if (name === 'unsafe')
        return (...args: Parameters<Sql['unsafe']>) => guardStatement(target.unsafe(...args), pass);
      return Reflect.get(target, name);
    },
  });

/** Guards a statement. Identifiers and value lists, which the same tag creates, are no statements. */
const guardStatement = <Made>(tagged: Made, pass: Pass): Made => {
  if (!(tagged instanceof Promise)) return tagged;
  const start = tagged.then.bind(tagged) as Statement['then'];
  let running: Statement | null = null;
  const guarded = (): Statement => {
    running ??= pass(
      'statement',
      () => new Promise((resolve, reject) => void start(resolve, reject)) as Promise<unknown>,
    );
    return running;
  };
  return Object.assign(tagged, {
    // biome-ignore lint/suspicious/noThenProperty: a statement starts when it is awaited.
    then: (...args: Parameters<Statement['then']>) => guarded().then(...args),
    catch: (...args: Parameters<Statement['catch']>) => guarded().catch(...args),
    finally: (...args: Parameters<Statement['finally']>) => guarded().finally(...args),
  });
};
