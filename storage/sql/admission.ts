/**
 * Admits statements and transactions to the connections of one pool: the only way to either kind of store.
 *
 * The driver (postgres 3.4.9) ends the process when it begins a transaction on a connection that has
 * `max_pipeline` (100) statements under way or whose socket asks for a pause. So a transaction is admitted
 * only while a connection has no work at all, and on all connections together there are never as many
 * statements as one takes. What is not admitted yet waits in one of two lines, of clients' requests and of
 * the node's own work, which are served in turn: a flood of requests delays the own work by one piece each.
 * A line is of bounded length; who comes when it is full is refused (`full`, `not_applied`).
 * Wired by client.ts and embedded.ts.
 */
import { StorageError } from '../../engine/errors.ts';
import { toStorageError } from './errors.ts';

/** Which line work waits in: a client's request, or what the node does by itself. */
export type Line = 'request' | 'own';

export interface AdmissionLimits {
  /** Connections of the pool. */
  readonly connections: number;
  /** Statements that one connection takes without an answer to the first of them. */
  readonly pipelineMax: number;
  /** Work that waits in one line. */
  readonly waitingMax: number;
}

export type Kind = 'statement' | 'transaction';

/** Runs the work when it is its turn, or refuses it; settles as the work does. */
export interface Admission {
  admit<Result>(line: Line, kind: Kind, work: () => PromiseLike<Result>): Promise<Result>;
}

interface Waiting {
  readonly kind: Kind;
  readonly start: () => void;
}

interface State extends AdmissionLimits {
  readonly lines: Readonly<Record<Line, Waiting[]>>;
  /** Whose turn it is when both lines wait. */
  next: Line;
  statements: number;
  transactions: number;
}

/** What one connection never takes, whatever `pipelineMax` says: the driver's own limit. */
export const driverPipelineMax = 100;
/** Between the two moments in which the driver learns that a connection broke. */
const limboMs = 50;

const refusal = ({ waitingMax }: State): StorageError =>
  new StorageError('sql', {
    outcome: 'not_applied',
    reason: 'full',
    detail: `${waitingMax} statements wait for a connection already`,
  });

/** Each piece of work is on one connection at most, so below that many pieces one connection is idle. */
const fits = ({ connections, pipelineMax, statements, transactions }: State, kind: Kind): boolean => {
  if (kind === 'transaction') return statements + transactions < connections;
  return statements < (connections - transactions) * pipelineMax;
};

const take = (state: State): Waiting | null => {
  const { own, request } = state.lines;
  const line = state.next === 'own' ? own : request;
  const chosen = line.length > 0 ? line : line === own ? request : own;
  const [first] = chosen;
  // Nothing overtakes a transaction that waits for a connection, or it would wait for ever.
  if (first === undefined || !fits(state, first.kind)) return null;
  chosen.shift();
  state.next = chosen === own ? 'request' : 'own';
  return first;
};

const admitWaiting = (state: State): void => {
  for (let next = take(state); next !== null; next = take(state)) next.start();
};

const count = (state: State, kind: Kind, by: 1 | -1): void => {
  if (kind === 'statement') state.statements += by;
  else state.transactions += by;
};

const leave = (state: State, kind: Kind): void => {
  count(state, kind, -1);
  admitWaiting(state);
};

const leaveAfter = (state: State, kind: Kind, failure: unknown): void => {
  if (toStorageError('sql', failure).reason !== 'unreachable') leave(state, kind);
  // The driver tells of a broken connection before it stops using it.
  else setTimeout(() => leave(state, kind), limboMs);
};

const begin = <Result>(state: State, kind: Kind, work: () => PromiseLike<Result>): Promise<Result> => {
  count(state, kind, 1);
  const running = Promise.resolve(work());
  running.then(
    () => leave(state, kind),
    (failure: unknown) => leaveAfter(state, kind, failure),
  );
  return running;
};

/** Throws when the limits would let one connection take more than the driver bears. */
export const createAdmission = (limits: AdmissionLimits): Admission => {
  if (limits.connections * limits.pipelineMax >= driverPipelineMax) {
    throw new Error(`connections * pipelineMax must be below ${driverPipelineMax}`);
  }
  const state: State = {
    ...limits,
    lines: { request: [], own: [] },
    next: 'own',
    statements: 0,
    transactions: 0,
  };
  const { own, request } = state.lines;
  return {
    admit: (line, kind, work) => {
      if (own.length + request.length === 0 && fits(state, kind)) return begin(state, kind, work);
      if (state.lines[line].length >= state.waitingMax) return Promise.reject(refusal(state));
      return new Promise((resolve, reject) => {
        const start = (): void => void begin(state, kind, work).then(resolve, reject);
        state.lines[line].push({ kind, start });
      });
    },
  };
};
