/**
 * The network of the simulation, between a node and its stores; the seed decides its faults.
 *
 * A call may be slow, refused, lost on the way there or back, executed after its caller gave up, and executed
 * again later. Its effect on the store does not depend on whether the caller still runs. It changes no
 * argument and no reply. Invariant: a rejection says `not_applied` only when the call never takes effect.
 */
import { StorageError } from '../../engine/errors.ts';
import type { HotStore, Ledger } from '../../engine/ports.ts';
import type { Driver, NodeClock } from './clock.ts';

/** Probabilities per call, and delays in ms. */
export interface FaultProfile {
  readonly delayMaxMs: number;
  /** Now and then a call takes up to this long. */
  readonly slowMaxMs: number;
  readonly slow: number;
  readonly refused: number;
  readonly replyLost: number;
  readonly callLost: number;
  /** The caller gives up first; the call takes effect after that. */
  readonly late: number;
  /** A call that took effect does so once more, later. */
  readonly again: number;
}

export const faultless: FaultProfile = {
  delayMaxMs: 3,
  slowMaxMs: 3,
  slow: 0,
  refused: 0,
  replyLost: 0,
  callLost: 0,
  late: 0,
  again: 0,
};

export interface Wire {
  readonly driver: Driver;
  readonly clock: NodeClock;
  /** The profile in force now. */
  readonly profile: () => FaultProfile;
  readonly name: string;
  readonly counts: Map<string, number>;
  /** Calls that may still take effect. */
  readonly inFlight: { count: number };
  /** Changes when the store is replaced: calls in flight to the old one are lost. */
  readonly life: () => number;
  /**
   * Changes when a shard is emptied, too, which then takes the first batch of any producer as new. No copy of
   * an answered call comes so late over TCP.
   */
  readonly copiesLife: () => number;
  /** Receives an error of a store that is not a `StorageError`. */
  readonly bug: (error: unknown) => void;
}

interface Fate {
  readonly thereMs: number;
  readonly backMs: number;
  readonly kind: 'fine' | 'refused' | 'replyLost' | 'callLost' | 'late';
  readonly again: boolean;
}

const drawFate = ({ driver, profile }: Wire): Fate => {
  const { random } = driver;
  const chosen = profile();
  const delay = (): number =>
    random.integer(0, random.chance(chosen.slow) ? chosen.slowMaxMs : chosen.delayMaxMs);
  const thereMs = delay();
  const backMs = delay();
  const again = random.chance(chosen.again);
  let draw = random.next();
  for (const kind of ['refused', 'replyLost', 'callLost', 'late'] as const) {
    draw -= chosen[kind];
    if (draw < 0) return { thereMs, backMs, kind, again: again && kind !== 'refused' };
  }
  return { thereMs, backMs, kind: 'fine', again };
};

/** Sends one call over the wire. `run` takes effect at one instant of virtual time. */
export const overWire = <Reply>(
  wire: Wire,
  verb: string,
  run: () => Promise<Reply> | Reply,
): Promise<Reply> => {
  const fate = drawFate(wire);
  const { driver, clock } = wire;
  if (fate.kind !== 'fine') count(wire, `${verb}: ${fate.kind}`);
  if (fate.again) count(wire, `${verb}: again`);
  if (fate.kind !== 'fine' || fate.again)
    driver.note(`${wire.name} ${verb}: ${fate.kind}${fate.again ? ' and again' : ''}`);
  return new Promise((resolve, reject) => {
    const tell = (delayMs: number, what: () => void): void => {
      driver.after(delayMs, () => {
        if (!clock.dead()) what();
      });
    };
    const unknown = (): void => reject(new StorageError(verb, { outcome: 'unknown', reason: 'unreachable' }));
    const execute = async (
      delayMs: number,
      then?: { ok(reply: Reply): void; failed(error: unknown): void },
      lifeOf = wire.life,
    ) => {
      wire.inFlight.count += 1;
      const life = lifeOf();
      await driver.pause(delayMs);
      try {
        if (life !== lifeOf()) throw new StorageError(verb, { outcome: 'unknown', reason: 'unreachable' });
        const reply = await run();
        then?.ok(reply);
      } catch (error) {
        if (!(error instanceof StorageError)) wire.bug(error);
        then?.failed(error);
      } finally {
        wire.inFlight.count -= 1;
      }
    };
    const { thereMs, backMs } = fate;
    const againMs = driver.random.integer(1, 3_000);
    if (fate.kind === 'refused') {
      tell(thereMs + backMs, () =>
        reject(new StorageError(verb, { outcome: 'not_applied', reason: 'busy' })),
      );
    } else if (fate.kind === 'callLost') {
      tell(thereMs + backMs, unknown);
    } else if (fate.kind === 'late') {
      tell(thereMs, unknown);
      void execute(thereMs + driver.random.integer(1, 3_000));
    } else {
      void execute(thereMs, {
        ok: (reply) => {
          if (fate.again && !isNo(reply)) void execute(againMs, undefined, wire.copiesLife);
          tell(backMs, () => (fate.kind === 'fine' ? resolve(reply) : unknown()));
        },
        failed: (error) => tell(backMs, () => reject(error)),
      });
    }
  });
};

/** No transport repeats a call that was refused. */
const isNo = (reply: unknown): boolean =>
  Array.isArray(reply) && reply.some((one) => one?.outcome === 'gap' || one?.outcome === 'uninitialised');

const count = (wire: Wire, what: string): void => {
  wire.counts.set(what, (wire.counts.get(what) ?? 0) + 1);
};

/** A node's view of the hot store. */
export const hotOverWire = (wire: Wire, hot: HotStore): HotStore => ({
  mayLoseTail: hot.mayLoseTail,
  toCommitQueue: (shard) => hot.toCommitQueue(shard),
  readGenerations: () => overWire(wire, 'generations', () => hot.readGenerations()),
  publish: (generations) => overWire(wire, 'publish', () => hot.publish(generations)),
  load: (requests) => overWire(wire, 'load', () => hot.load(requests)),
  commit: (batches, rules) => overWire(wire, 'commit', () => hot.commit(batches, rules)),
  peek: (limit) => overWire(wire, 'peek', () => hot.peek(limit)),
  clear: (places) => overWire(wire, 'clear', () => hot.clear(places)),
  markFlushed: (receipt) => overWire(wire, 'settled', () => hot.markFlushed(receipt)),
  countBacklog: () => overWire(wire, 'backlog', () => hot.countBacklog()),
  readVersions: (shards) => overWire(wire, 'versions', () => hot.readVersions(shards)),
  readParts: (request) => overWire(wire, 'parts', () => hot.readParts(request)),
  listDueParts: (shards, limit) => overWire(wire, 'due parts', () => hot.listDueParts(shards, limit)),
  readChanges: (known) => overWire(wire, 'changes', () => hot.readChanges(known)),
  sweep: (nowMs) => overWire(wire, 'sweep', () => hot.sweep(nowMs)),
  close: () => hot.close(),
});

/**
 * A node's view of the ledger. A transaction is never executed again by itself, but it may be executed late.
 */
export const ledgerOverWire = (wire: Wire, ledger: Ledger): Ledger => ({
  find: (targets) => overWire(wire, 'find', () => ledger.find(targets)),
  listVoters: (target, page) => overWire(wire, 'voters', () => ledger.listVoters(target, page)),
  listEdits: (limit) => overWire(wire, 'edits', () => ledger.listEdits(limit)),
  markEditsSent: (edits) => overWire(wire, 'editsTold', () => ledger.markEditsSent(edits)),
  readFlushedPositions: () => overWire(wire, 'flushedPlaces', () => ledger.readFlushedPositions()),
  flush: (round) => overWire(wire, 'flush', () => ledger.flush(round)),
  writeDeadLetter: (row) => overWire(wire, 'bury', () => ledger.writeDeadLetter(row)),
  readGenerations: () => overWire(wire, 'ledger generations', () => ledger.readGenerations()),
  takeGeneration: (shards, atLeast) =>
    overWire(wire, 'nextGeneration', () => ledger.takeGeneration(shards, atLeast)),
  listAdjustments: (limit, scope) =>
    overWire(wire, 'adjustments', () => ledger.listAdjustments(limit, scope)),
  markAdjustmentsDelivered: (ids) =>
    overWire(wire, 'adjustmentsSettled', () => ledger.markAdjustmentsDelivered(ids)),
});
