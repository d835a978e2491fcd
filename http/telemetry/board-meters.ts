/**
 * The Prometheus metric of leaderboards: the age of the editions that this node shows. Read on each scrape;
 * registered by the composition root.
 */
import { Gauge, type Registry } from 'prom-client';
import {
  type BoardName,
  boardNames,
  boardsByKind,
  type Edition,
  type RankedKind,
  rankedKinds,
} from '../../engine/rules/boards.ts';

export interface BoardAges {
  readonly find: (kind: RankedKind, board: BoardName) => Edition | null;
  readonly nowMs: () => number;
}

/** A board without an edition has no value; with several kinds the oldest edition counts. */
export const registerBoardAges = (registers: Registry[], { find, nowMs }: BoardAges): void => {
  new Gauge({
    name: 'rollcall_boards_edition_age_seconds',
    help: 'Age of the oldest edition of a leaderboard that this node shows.',
    labelNames: ['board'],
    registers,
    collect() {
      for (const board of boardNames) {
        const kinds = rankedKinds.filter((kind) => (boardsByKind[kind] as readonly string[]).includes(board));
        const made = kinds.flatMap((kind) => find(kind, board)?.madeAtMs ?? []);
        if (made.length > 0) this.set({ board }, Math.max(0, nowMs() - Math.min(...made)) / 1_000);
      }
    },
  });
};
