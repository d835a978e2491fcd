/**
 * Makes the editions of leaderboards on time, on one node for the fleet, and loads them on every node.
 *
 * A few times per edition each node claims the runs that are due (run-once.ts), and loads the editions that
 * have changed. The board of votes has runs of its own, since it costs little; the others go through the
 * whole directory, so they are made ten times less often. A missed edition is not made later: only the newest
 * due time counts.
 */
import type { BoardName } from '../../engine/rules/boards.ts';
import type { Boards } from '../../storage/catalogue/boards/boards.ts';
import type { FleetJob, NodeJob } from './job.ts';
import { type RunParts, runOnce } from './run-once.ts';

export interface BoardsJobParts extends Omit<RunParts, 'signal'> {
  readonly boards: Pick<Boards, 'refresh' | 'makeVotes' | 'makeOthers'>;
  readonly clock: { nowMs(): number };
  readonly boardSeconds: number;
}

/** An edition is made after this time at most, and seen at all nodes after the same again. */
const computePauseMs = (boardSeconds: number): number => Math.min(15_000, boardSeconds * 250);
const runRetentionDays = 1;
/** Boards that need all listings are made this many times less often, but at least once in `pauseMsMax`. */
const others = { times: 10, pauseMsMax: 3_600_000 } as const;

/** The time between two editions of a board, ms. */
export const computePeriodMs = (board: BoardName, boardSeconds: number): number =>
  board === 'votes'
    ? boardSeconds * 1_000
    : Math.min(boardSeconds * 1_000 * others.times, Math.max(others.pauseMsMax, boardSeconds * 1_000));

type BoardRun = Pick<FleetJob, 'name' | 'run'> & { readonly periodMs: number };

const createBoardRuns = ({ boards, runs, boardSeconds, monotonicMs }: BoardsJobParts) => {
  const createRun = (name: string, board: BoardName, make: FleetJob['run']): BoardRun => ({
    name,
    periodMs: computePeriodMs(board, boardSeconds),
    run: async (run) => {
      await make(run);
      await runs.purge(runRetentionDays, name);
    },
  });
  return [
    createRun('board_votes', 'votes', ({ dueAtMs }) => boards.makeVotes(dueAtMs)),
    createRun('board_others', 'trending', ({ dueAtMs, signal }) =>
      boards.makeOthers(dueAtMs, { monotonicMs, signal }),
    ),
  ];
};

/** Creates a job for each group of boards, because one of them is slow, and one that loads editions. */
export const createBoardsJobs = (parts: BoardsJobParts): readonly NodeJob[] => {
  const boardRuns = createBoardRuns(parts);
  const everyMs = computePauseMs(parts.boardSeconds);
  parts.meters.declareJobs(boardRuns.map(({ name }) => name));
  const looks = boardRuns.map((boardRun): NodeJob => {
    // The due time that this node completed last.
    let doneMs = 0;
    return {
      name: `${boardRun.name}_look`,
      everyMs,
      run: async (signal) => {
        const dueAtMs = Math.floor(parts.clock.nowMs() / boardRun.periodMs) * boardRun.periodMs;
        if (dueAtMs !== doneMs && (await runOnce({ ...parts, signal }, boardRun, dueAtMs))) doneMs = dueAtMs;
      },
    };
  });
  return [...looks, { name: 'board_refresh', everyMs, run: () => parts.boards.refresh() }];
};
