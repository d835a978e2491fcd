/**
 * The ledger of a simulation: the model with checks after each flush, and without single guards on request.
 *
 * `faults` shows that the checks work: each disables one guard of a flush before the model runs it.
 */
import { emptyTotals } from '../../engine/entity/state.ts';
import type { Backlog, Ledger } from '../../engine/ports.ts';
import type { LedgerModel } from '../model/ledger-model.ts';

export interface LedgerFaults {
  /** Flushes overwrite without looking at (generation, version). */
  readonly unguarded?: boolean;
  /** A vote flushed twice becomes two rows. */
  readonly doubleRows?: boolean;
  /** A flush may bring a totals row back. */
  readonly resurrects?: boolean;
}

const undoGuards = (model: LedgerModel, faults: LedgerFaults, round: Backlog): Backlog => {
  for (const { ref } of round.entities) {
    const row = model.totals.get(ref.incarnation);
    if (row !== undefined && faults.unguarded) Object.assign(row, { generation: -1, version: -1 });
    if (row === undefined && faults.resurrects)
      model.totals.set(ref.incarnation, { ref, totals: emptyTotals, generation: -1, version: -1 });
  }
  if (!faults.doubleRows) return round;
  const votes = round.votes.map((vote) => ({ ...vote, itag: `${vote.itag}#${model.votes.size}` }));
  return { ...round, votes };
};

/** The model's port; reports totals that fell (I10) or came back (I12) to `violate`. */
export const watchedLedger = (
  model: LedgerModel,
  faults: LedgerFaults,
  violate: (invariant: string, detail: string) => void,
): Ledger => ({
  ...model.port,
  flush: async (round) => {
    const before = new Map([...model.totals].map(([key, row]) => [key, { ...row }]));
    await model.port.flush(undoGuards(model, faults, round));
    for (const [incarnation, row] of model.totals) {
      const old = before.get(incarnation);
      if (old === undefined) violate('I12', `a flush brought listing ${incarnation} back`);
      else if (row.generation < old.generation) violate('I10', `generation fell in listing ${incarnation}`);
      else if (row.generation === old.generation && row.version < old.version)
        violate('I10', `version fell in listing ${incarnation}`);
    }
  },
});
