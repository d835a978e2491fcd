/**
 * Converts a failure of the driver or the server to a `StorageError`: whether it may have had an effect, and
 * why it failed.
 *
 * Owns the table of SQLSTATEs and connection codes. A server that answered with an error has rolled back, so
 * the outcome is definite; after a broken connection it is definite only if nothing was sent.
 */
import { StorageError, type StorageOutcome, type StorageReason, toMessage } from '../../engine/errors.ts';

/** The SQLSTATEs of each reason, or their classes (first two characters); an exact state wins. */
const statesOf: Readonly<Partial<Record<StorageReason, readonly string[]>>> = {
  // With 42, 3F and 26 it refuses for its own state: a right, a table, a search_path, a lost statement.
  busy: [
    ...['25006', '40001', '40P01', '53', '55', '57014', 'EADDRNOTAVAIL', 'EMFILE', 'ENFILE'],
    ...['0A', '0L', '0P', '26', '3F', '42', '72', 'F0'],
  ],
  // A login that is refused, or a database that is gone, may be back like a server.
  unreachable: ['08', '28', '3D000', '40003', '57P01', '57P02', '57P03', '57P04', '57P05'],
  full: ['53100', '58030'],
  row: ['22', '23', '54000'],
  damaged: ['58', 'XX'],
};
const reasonsByState = new Map(
  Object.entries(statesOf).flatMap(([reason, states]) =>
    states.map((state) => [state, reason as StorageReason] as const),
  ),
);

/** States that mean damaged files; the other states of their classes may be passing faults of the server. */
const lastingStates = new Set(['XX001', 'XX002', '58P01', '58030']);

/** The connection ended during the work: the server may have done it. */
const brokenOff = new Set([
  'CONNECTION_CLOSED',
  'CONNECTION_DESTROYED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENETDOWN',
  'EHOSTDOWN',
  'ECONNABORTED',
  'EPROTO',
]);
const brokenTls = /^ERR_SSL_/;
/** No connection was made: nothing was sent. */
const neverConnected = new Set([
  'CONNECT_TIMEOUT',
  'ECONNREFUSED',
  'ENOENT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EACCES',
  'ENOTSOCK',
  'EPERM',
]);
/** TLS refuses the server's certificate before anything is sent: it has ended, or is another server's. */
export const refusedCertificate = /CERT|^UNABLE_TO_/;

/**
 * States after which the outcome of a COMMIT is unknown despite the answer: the server was going down.
 */
const undecidedStates = new Set(['57P01', '57P02', '08006', '08007', '40003']);

const getErrorCode = (error: unknown): string => {
  if (typeof error !== 'object' || error === null || !('code' in error)) return '';
  return typeof error.code === 'string' ? error.code : '';
};

/** A file that cannot be read is damaged; one that cannot be written may only lack space. */
const unreadable = /^could not (read|open|access|stat) /;

const isState = (error: unknown, state: string): boolean =>
  getErrorCode(error instanceof StorageError ? error.cause : error) === state;

/** Whether the server takes no writes: a standby, or one that its provider made read-only. */
export const isReadOnly = (error: unknown): boolean => isState(error, '25006');

/** Whether the server refuses further connections. */
export const isServerFull = (error: unknown): boolean => isState(error, '53300');

/** Whether SQL refused a row because a unique index has its values already. */
export const isUniqueViolation = (error: unknown): boolean => getErrorCode(error) === '23505';

const classify = (code: string, message: string): { outcome: StorageOutcome; reason: StorageReason } => {
  if (code === '58030' && unreadable.test(message)) return { outcome: 'not_applied', reason: 'damaged' };
  if (code === 'CONNECTION_ENDED') return { outcome: 'not_applied', reason: 'closed' };
  if (neverConnected.has(code) || refusedCertificate.test(code))
    return { outcome: 'not_applied', reason: 'unreachable' };
  if (brokenOff.has(code) || brokenTls.test(code)) return { outcome: 'unknown', reason: 'unreachable' };
  const outcome = undecidedStates.has(code) ? 'unknown' : 'not_applied';
  const reason = reasonsByState.get(code) ?? reasonsByState.get(code.slice(0, 2)) ?? 'bug';
  return { outcome, reason };
};

/** Wraps a failure of `operation`; a `StorageError` passes through. `detail` never holds a row's values. */
export const toStorageError = (operation: string, error: unknown): StorageError => {
  if (error instanceof StorageError) return error;
  const code = getErrorCode(error);
  const message = toMessage(error);
  const detail = code ? `${code} ${message}` : message;
  return new StorageError(operation, { ...classify(code, message), cause: error, detail });
};

/** Whether a statement or transaction failed because its connection ended, or was never made. */
export const isConnectionLoss = (error: unknown): boolean =>
  toStorageError('transaction', error).reason === 'unreachable';

/** Whether files are damaged, which only a restored copy repairs. */
export const isLastingDamage = (failure: StorageError): boolean =>
  failure.reason === 'damaged' && lastingStates.has(getErrorCode(failure.cause));

/** Runs `task`; rejects with a `StorageError` if it fails. */
export const asStorage = async <Result>(operation: string, task: () => Promise<Result>): Promise<Result> => {
  try {
    return await task();
  } catch (error) {
    throw toStorageError(operation, error);
  }
};

/** Runs `task`. Resolves to false, with nothing done, if others used what it needs for too long. */
export const runUnlessBusy = async (operation: string, task: () => Promise<unknown>): Promise<boolean> => {
  try {
    await task();
    return true;
  } catch (error) {
    const failure = toStorageError(operation, error);
    if (failure.reason === 'busy') return false;
    throw failure;
  }
};

/** Functions whose first parameter is what they all work on. */
export type Bindable<Context> = Readonly<
  Record<string, (context: Context, ...args: never[]) => Promise<unknown>>
>;
export type Bound<Functions> = {
  readonly [Name in keyof Functions]: Functions[Name] extends (
    context: never,
    ...args: infer Args
  ) => PromiseLike<infer Result>
    ? (...args: Args) => Promise<Result>
    : never;
};

/** Gives each function the form that `bind` makes of it; an operation is `AREA.NAME`. */
export const bindEach = <Context, Functions extends Bindable<Context>>(
  area: string,
  functions: Functions,
  bind: (operation: string, run: Bindable<Context>[string]) => (...args: never[]) => Promise<unknown>,
): Bound<Functions> =>
  Object.fromEntries(
    Object.entries(functions).map(([name, run]) => [name, bind(`${area}.${name}`, run)]),
  ) as Bound<Functions>;

/**
 * Binds functions to their first parameter: the SQL client, or an object that has it. Each rejects with a
 * `StorageError` if it fails, whose operation is `AREA.NAME`.
 */
export const bindStorage = <Context, Functions extends Bindable<Context>>(
  area: string,
  context: Context,
  functions: Functions,
): Bound<Functions> =>
  bindEach<Context, Functions>(
    area,
    functions,
    (operation, run) =>
      (...args) =>
        asStorage(operation, () => run(context, ...args)),
  );
