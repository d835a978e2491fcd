/**
 * Makes the n-th step after a request's first change fail: a statement, a transaction or a call of the engine
 * that was certainly not carried out.
 *
 * A change is a statement that writes, or a transaction with one, that has resolved; what the audit record
 * has of an operation is none.
 */
import { StorageError } from '../../../engine/errors.ts';
import type { Sql } from '../../../storage/sql/client.ts';

const writes = /\b(insert\s+into|delete\s+from|update\s+[\w.]*\s*(as\s+\w+\s+)?set)\b/i;

type Step = () => void;

/** Creates the failure of a statement that the server has cancelled. */
const createCancelled = (): Error => Object.assign(new Error('canceled by the test'), { code: '57014' });
const createAway = (): Error =>
  new StorageError('engine', { outcome: 'not_applied', reason: 'unreachable', detail: 'by the test' });

interface Watching {
  /** Called before each statement and transaction; may throw. */
  readonly step: Step;
  /** Called when one has written. */
  readonly onWrite: () => void;
}

/** A statement of `postgres` starts when it is awaited: the step is there. */
const wrapStatement = (made: Promise<unknown>, text: string, { step, onWrite }: Watching): unknown => {
  const start = made.then.bind(made);
  const run = async () => {
    step();
    const rows = await new Promise((resolve, reject) => void start(resolve, reject));
    if (writes.test(text) && !/\baudit\b/.test(text)) onWrite();
    return rows;
  };
  let running: Promise<unknown> | undefined;
  const guarded = (): Promise<unknown> => {
    running ??= run();
    return running;
  };
  return Object.assign(made, {
    // biome-ignore lint/suspicious/noThenProperty: as above.
    then: (...args: Parameters<Promise<unknown>['then']>) => guarded().then(...args),
    catch: (...args: Parameters<Promise<unknown>['catch']>) => guarded().catch(...args),
    finally: (...args: Parameters<Promise<unknown>['finally']>) => guarded().finally(...args),
  });
};

const wrapClient = <Client extends object>(client: Client, watching: Watching): Client =>
  new Proxy(client, {
    apply: (target, self, args) => {
      const made: unknown = Reflect.apply(target as unknown as () => unknown, self, args);
      if (!(made instanceof Promise)) return made;
      return wrapStatement(made, (args[0] as readonly string[]).join(' '), watching);
    },
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name);
      if (name !== 'begin') return value;
      return async (...args: unknown[]) => {
        watching.step();
        const task = args.at(-1) as (transaction: object) => unknown;
        let wrote = false;
        const onWrite = (): void => {
          wrote = true;
        };
        const begin = value as (...args: unknown[]) => Promise<unknown>;
        const result = await begin(...args.slice(0, -1), (transaction: object) =>
          task(wrapClient(transaction, { step: watching.step, onWrite })),
        );
        if (wrote) watching.onWrite();
        return result;
      };
    },
  });

const wrapEngineWith = <Engine extends object>(engine: Engine, step: Step): Engine =>
  new Proxy(engine, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== 'function') return value;
      return (...args: unknown[]) => {
        try {
          step();
        } catch (error) {
          return Promise.reject(error);
        }
        return Reflect.apply(value, target, args);
      };
    },
  });

export const createFaults = () => {
  const state = { armed: false, changed: false, stepsLeft: 0, failed: false };
  /** Counts a step. Throws if it is the one that fails. */
  const takeStep = (createFailure: () => Error): void => {
    if (!state.armed || !state.changed || state.failed) return;
    state.failed = state.stepsLeft === 0;
    state.stepsLeft -= 1;
    if (state.failed) throw createFailure();
  };
  const onWrite = (): void => {
    state.changed = true;
  };
  return {
    wrapSql: (sql: Sql): Sql => wrapClient(sql, { step: () => takeStep(createCancelled), onWrite }),
    wrapEngine: <Engine extends object>(engine: Engine): Engine =>
      wrapEngineWith(engine, () => takeStep(createAway)),
    /** Runs a request whose step of this number after the first change fails. */
    during: async <Result>(stepsLeft: number, request: () => Promise<Result>) => {
      Object.assign(state, { armed: true, changed: false, stepsLeft, failed: false });
      const result = await request();
      state.armed = false;
      return { result, changed: state.changed, failed: state.failed };
    },
  };
};
