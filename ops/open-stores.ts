/**
 * Opens the stores of a node. A start does this before it loads the rest of the server, which takes about as
 * long as the thread of the embedded database needs to open its folder.
 */
import type { Logger } from 'pino';
import { assertLimits } from '../engine/limits.ts';
import { describeDiskFault } from '../storage/disk-room.ts';
import type { SqlThread } from '../storage/embedded/sql-thread.ts';
import { openStores } from '../storage/open.ts';
import { assertClockSet, systemClock } from './clock.ts';
import { assertPortsFree } from './config/addresses.ts';
import type { Config } from './config/config.ts';
import { createRepeatedLog } from './log/repeated-log.ts';

/** Creates the report that this process has lost its database and cannot continue; nothing is lost so far. */
const createLoss = () => {
  const { promise: reported, resolve } = Promise.withResolvers<string>();
  const loss = {
    /** Why the node lost its database; `''` while it has not. */
    reason: '',
    reported,
    report: (reason: string) => {
      loss.reason = reason;
      resolve(reason);
    },
  };
  return loss;
};

/** Rejects with a message for the operator, and leaves nothing open. `sqlThread`: see `StoresOptions`. */
export const openNodeStores = async (
  config: Config,
  {
    logger,
    nowMs,
    sqlThread,
  }: { readonly logger: Logger; readonly nowMs: number; readonly sqlThread?: SqlThread | undefined },
) => {
  assertLimits();
  assertClockSet(nowMs);
  const loss = createLoss();
  const report = createRepeatedLog(logger.error.bind(logger), systemClock);
  /** Receives failures of background work, for the log. */
  const onWarning = (message: string, error: unknown) => report(message, { error: String(error) });
  /** Rejects when statements of the embedded SQL begin to wait for room on the disk; for the start alone. */
  const room = Promise.withResolvers<never>();
  // After the start the watch of the disk says it.
  room.promise.catch(() => undefined);
  const stores = await openStores(config, {
    clock: systemClock.nowMs,
    sqlThread,
    beforeOpening: () => assertPortsFree(config),
    onWarning,
    onReplaced: (message) => logger.warn(message),
    onDiskFull: (error) => room.reject(error),
    onLockLost: (message) => {
      logger.fatal(message);
      process.exit(1);
    },
    onLost: (message, error) => {
      logger.fatal({ error: String(error) }, message);
      loss.report(`${message}: ${String(error)}.${describeDiskFault(config.dataDir)}`);
    },
  });
  return { stores, loss, onWarning, diskFull: room.promise };
};
export type NodeStores = Awaited<ReturnType<typeof openNodeStores>>;
