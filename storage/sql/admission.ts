/**
 * Admission control: limits the statements and transactions that run at once on the connections of a pool.
 *
 * The driver (postgres 3.4.9) ends the process when it begins a transaction on a connection that has
 * `max_pipeline` (100) statements in flight, or whose socket is not writable. So a transaction is admitted
 * only while a connection is idle, and all connections together never have as many statements as one of them
 * accepts. Other work waits in one of two queues, clients' requests and the node's own work, which are served
 * alternately: a flood of requests delays each piece of own work by one piece. The queues are bounded; when
 * one is full, further work is refused (`full`, `not_applied`). So is a request's work that has waited until
 * the request was answered without it: else clients that try again would keep the queue full of work that no
 * client waits for, and get no answer while the flood lasts.
 */
import { createNotAppliedError, type StorageError } from '../../engine/errors.ts';
import { toStorageError } from './errors.ts';

/** Which queue work waits in: a client's request, or the node's own work. */
export type Line = 'request' | 'own';

export interface AdmissionLimits {
  /** Connections of the pool. */
  readonly connections: number;
  /** Unanswered statements that one connection may have. */
  readonly pipelineMax: number;
  /** Pieces of work that may wait in one queue. */
  readonly waitingMax: number;
  /** How long a request's work may wait. */
  readonly requestWaitMsMax: number;
}

export type Kind = 'statement' | 'transaction';

/** Runs work when the connections have room, or refuses it; settles as the work does. */
export interface Admission {
  admit<Result>(line: Line, kind: Kind, work: () => PromiseLike<Result>): Promise<Result>;
}

interface QueuedWork {
  readonly kind: Kind;
  readonly queuedMs: number;
  readonly start: () => void;
  readonly refuse: (error: StorageError) => void;
}

interface State extends AdmissionLimits {
  readonly queues: Readonly<Record<Line, QueuedWork[]>>;
  /** The queue served next when both have work. */
  next: Line;
  statements: number;
  transactions: number;
}

/** The driver's own limit of statements on one connection, whatever `pipelineMax` says. */
export const driverPipelineMax = 100;
/** Time in which the driver may still use a connection that it has reported as broken. */
const brokenConnectionMs = 50;

/**
 * Whether work may run: each uses one connection at most, so with fewer pieces than connections one is idle.
 */
const hasRoom = ({ connections, pipelineMax, statements, transactions }: State, kind: Kind): boolean => {
  if (kind === 'transaction') return statements + transactions < connections;
  return statements < (connections - transactions) * pipelineMax;
};

const refuseLate = ({ queues: { request }, requestWaitMsMax }: State): void => {
  const lateMs = performance.now() - requestWaitMsMax;
  for (let first = request[0]; first !== undefined && first.queuedMs <= lateMs; first = request[0]) {
    request.shift();
    first.refuse(createNotAppliedError('sql', 'full', `no connection was free for ${requestWaitMsMax} ms`));
  }
};

const takeNext = (state: State): QueuedWork | null => {
  const { own, request } = state.queues;
  const line = state.next === 'own' ? own : request;
  const chosen = line.length > 0 ? line : line === own ? request : own;
  const [first] = chosen;
  // No work overtakes a transaction that waits for a connection, or the transaction might wait for ever.
  if (first === undefined || !hasRoom(state, first.kind)) return null;
  chosen.shift();
  state.next = chosen === own ? 'request' : 'own';
  return first;
};

const admitWaiting = (state: State): void => {
  refuseLate(state);
  for (let next = takeNext(state); next !== null; next = takeNext(state)) next.start();
};

const adjustCount = (state: State, kind: Kind, by: 1 | -1): void => {
  if (kind === 'statement') state.statements += by;
  else state.transactions += by;
};

const finish = (state: State, kind: Kind): void => {
  adjustCount(state, kind, -1);
  admitWaiting(state);
};

const finishAfterFailure = (state: State, kind: Kind, failure: unknown): void => {
  if (toStorageError('sql', failure).reason !== 'unreachable') finish(state, kind);
  // The driver reports a broken connection before it stops using it.
  else setTimeout(() => finish(state, kind), brokenConnectionMs);
};

const begin = <Result>(state: State, kind: Kind, work: () => PromiseLike<Result>): Promise<Result> => {
  adjustCount(state, kind, 1);
  const running = Promise.resolve(work());
  running.then(
    () => finish(state, kind),
    (failure: unknown) => finishAfterFailure(state, kind, failure),
  );
  return running;
};

/**
 * Creates the admission of a pool. Throws if the limits would allow more statements than the driver survives.
 */
export const createAdmission = (limits: AdmissionLimits): Admission => {
  if (limits.connections * limits.pipelineMax >= driverPipelineMax) {
    throw new Error(`connections * pipelineMax must be below ${driverPipelineMax}`);
  }
  const state: State = {
    ...limits,
    queues: { request: [], own: [] },
    next: 'own',
    statements: 0,
    transactions: 0,
  };
  const { own, request } = state.queues;
  return {
    admit: (line, kind, work) => {
      if (own.length + request.length === 0 && hasRoom(state, kind)) return begin(state, kind, work);
      if (state.queues[line].length >= state.waitingMax) {
        const detail = `${state.waitingMax} statements are waiting for a connection already`;
        return Promise.reject(createNotAppliedError('sql', 'full', detail));
      }
      return new Promise((resolve, reject) => {
        const start = (): void => void begin(state, kind, work).then(resolve, reject);
        state.queues[line].push({ kind, queuedMs: performance.now(), start, refuse: reject });
      });
    },
  };
};
