/**
 * The parts of the engine's tests: virtual time, the model stores, counting meters, turns that record their
 * end.
 *
 * Not a test file. It replaces no module of the product: time and stores come in through their ports.
 */

import { type ItemReply, Turn, type TurnFailure } from '../../engine/commit/shard-queue.ts';
import { createEngine } from '../../engine/create.ts';
import type { Engine } from '../../engine/engine.ts';
import type { CommitRules, InitItem, Item } from '../../engine/entity/items.ts';
import { emptyFacts, emptyTotals, type HotState } from '../../engine/entity/state.ts';
import { DomainError, StorageError } from '../../engine/errors.ts';
import { type EntityRef, listAllShards, toAddress } from '../../engine/ids.ts';
import type { EngineMeters } from '../../engine/ports.ts';
import { createHotModel, type HotModel } from '../model/hot-model.ts';
import { createLedgerModel, type LedgerModel } from '../model/ledger-model.ts';
import { createDriver, createNodeClock, type Driver, type NodeClock } from '../sim/clock.ts';
import { faultless, type Wire } from '../sim/faults.ts';
import { rules } from '../sim/plan.ts';
import { refOf } from '../support/refs.ts';

export const epochMs = Date.UTC(2026, 0, 6, 12);

export interface Kit {
  readonly driver: Driver;
  readonly clock: NodeClock;
  readonly hot: HotModel;
  readonly ledger: LedgerModel;
  readonly meters: EngineMeters;
  /** Calls of the meters, by name. */
  readonly metered: Map<string, number>;
  /** Bytes of the retransmit buffer, each time they changed. */
  readonly kept: number[];
  readonly rules: CommitRules;
  /** Lets virtual time pass. */
  pass(ms: number): Promise<void>;
  /** Runs until the promise settles, and returns its value or throws its error. */
  until<Value>(promise: Promise<Value>): Promise<Value>;
}

export interface KitOptions {
  readonly published?: boolean;
  readonly mayLoseTail?: boolean;
}

export const createKit = async (options: KitOptions = {}): Promise<Kit> => {
  const driver = createDriver(1);
  const clock = createNodeClock(driver, epochMs);
  const hot = createHotModel({ clock: clock.nowMs, mayLoseTail: options.mayLoseTail ?? false });
  const metered = new Map<string, number>();
  const kept: number[] = [];
  const count = (what: string, times = 1): void => {
    metered.set(what, (metered.get(what) ?? 0) + times);
  };
  const kit: Kit = {
    driver,
    clock,
    hot,
    ledger: createLedgerModel(),
    metered,
    kept,
    rules,
    meters: {
      recordCommit: (items) => count('items', items),
      recordCommitFailure: (outcome) => count(outcome),
      recordPending: () => {},
      recordActors: () => {},
      recordFlush: () => count('flushed'),
      recordFlushFailure: (reason) => count(`flush failed: ${reason}`),
      recordBacklog: () => {},
      recordDeadLetters: (rows) => count('dead letters', rows),
      recordContinuityLoss: (reason) => count(reason),
      recordRetransmitBytes: (bytes) => kept.push(bytes),
      recordResends: (items) => count('resent', items),
      recordResendOutcome: (how) => count(`healed: ${how}`),
      recordLoads: () => {},
      recordPartsSwitch: (reason) => count(`switched: ${reason}`),
      recordStaleParts: (parts) => count('stale parts', parts),
      recordVersionPoll: (_shards, moved) => count('moved', moved),
    },
    pass: async (ms) => {
      let over = false;
      driver.after(ms, () => {
        over = true;
      });
      await driver.run(() => over, 100_000);
    },
    until: async (promise) => {
      let isDone = false;
      const mark = (): void => {
        isDone = true;
      };
      promise.then(mark, mark);
      await driver.run(() => isDone, 100_000);
      if (!isDone) throw new Error('nothing is left to happen, and the promise is open');
      return promise;
    },
  };
  if (options.published ?? true) await publishAll(hot, 1);
  return kit;
};

/** What sim/faults.ts needs to put a network without delays and faults between an engine and the stores. */
export const wireOf = ({ driver, clock }: Kit): Wire => ({
  driver,
  clock,
  profile: () => ({ ...faultless, delayMaxMs: 0 }),
  name: 'node',
  counts: new Map(),
  inFlight: { count: 0 },
  life: () => 0,
  copiesLife: () => 0,
  bug: (error) => {
    throw error;
  },
});

/** An engine on the kit's stores, which is not started; `parts` replaces any of what it is made of. */
export const createEngineOn = (kit: Kit, parts: Partial<Parameters<typeof createEngine>[0]> = {}): Engine => {
  const producer = parts.producer ?? 'node';
  let ids = 0;
  return createEngine({
    hot: kit.hot,
    ledger: kit.ledger.port,
    clock: kit.clock,
    meters: kit.meters,
    producer,
    rules,
    visitorSecret: new Uint8Array(32),
    newId: () => `${producer}-${++ids}`,
    flushIntervalMs: 1_000,
    actorsMax: 100,
    ...parts,
  });
};

export const publishAll = (hot: HotModel, generation: number): Promise<void> =>
  hot.publish(listAllShards().map((shard) => ({ shard, generation })));

/** A bot that exists; the same id is the same shard in every test. */
export const botRef = (id: string, incarnation = 1): EntityRef => refOf('bot', id, incarnation);

/** Ids of bots that share a shard. */
export const sameShard = (count: number): readonly string[] => {
  const { shard } = botRef('bot-0');
  const ids: string[] = [];
  for (let index = 0; ids.length < count; index++)
    if (botRef(`bot-${index}`).shard === shard) ids.push(`bot-${index}`);
  return ids;
};

export const listedFacts = { ...emptyFacts, revision: 1, listed: true };

export const initOf = (target: EntityRef): InitItem => ({
  kind: 'init',
  target,
  facts: listedFacts,
  totals: emptyTotals,
  row: { generation: 0, version: 0 },
});
export const clickOn = (target: EntityRef, visitor = '1'): Item => ({ kind: 'click', target, visitor });
export const inviteOn = (target: EntityRef): Item => ({ kind: 'invite', target });

/** A turn that records its outcome. */
export class RecordedTurn extends Turn {
  decided: ItemReply | null = null;
  failure: TurnFailure | null = null;
  closedTimes = 0;
  /** Called with the decision. */
  onAnswer = (): void => {};

  constructor(item: Item, deadlineMs: number) {
    super(item, deadlineMs, {
      answer: (reply) => {
        this.decided = reply;
        this.onAnswer();
      },
      fail: (failure) => {
        this.failure = failure;
      },
      onClosed: () => {
        this.closedTimes += 1;
      },
    });
  }
}

export const recordedTurn = (item: Item, deadlineMs = Number.POSITIVE_INFINITY): RecordedTurn =>
  new RecordedTurn(item, deadlineMs);

/** The hot store's state of a listing, `null` if it has none. */
export const stateIn = (hot: HotModel, ref: EntityRef): HotState | null =>
  hot.shards[ref.shard]?.slots.get(toAddress(ref.kind, ref.id))?.state ?? null;

/** How a call ends: `resolved`, the code of its error, or the error as text. */
export const codeOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'resolved',
    (error: unknown) => (error instanceof DomainError ? error.code : String(error)),
  );

export const refusal = (): StorageError =>
  new StorageError('commit', { outcome: 'not_applied', reason: 'busy' });
export const silence = (): StorageError =>
  new StorageError('commit', { outcome: 'unknown', reason: 'unreachable' });
