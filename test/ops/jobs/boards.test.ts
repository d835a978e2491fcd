/**
 * The jobs of leaderboards: one node of several makes each edition, all of them show it, a failed or
 * interrupted run is made again, and a clock that is wrong makes none.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { computePeriodMs, createBoardsJobs } from '../../../ops/jobs/boards.ts';
import type { NodeJob } from '../../../ops/jobs/job.ts';
import { createCatalogue } from '../../../storage/catalogue/catalogue.ts';
import { createJobRuns } from '../../../storage/nodes/job-runs.ts';
import { addBot, addUser, openDirectory } from '../../storage/catalogue/directory.ts';

import { silentMeters } from '../../support/job-meters.ts';

const test = suite('jobs of boards');
const directory = await openDirectory();
const { sql } = directory;
test.after(() => directory.close());

/** The database compares due times with its own clock, so the test's clock stays in the past. */
const startMs = Math.floor(Date.now() / 3_600_000 - 48) * 3_600_000;
let nowMs = startMs;

interface Node {
  readonly boards: ReturnType<typeof createCatalogue>['boards'];
  /** The runs that this node made, by their due time. */
  readonly made: [name: string, dueAtMs: number][];
  readonly failures: string[];
  /** The time between two runs of each job. */
  readonly pausesMs: readonly number[];
  look(): Promise<void>;
  /** Makes the next runs fail or end early. */
  fault: Error | null;
}

const openNode = (name: string, boardSeconds = 60): Node => {
  const { boards } = createCatalogue(sql);
  const stopping = new AbortController();
  const record = (run: string, dueAtMs: number): void => {
    if (node.fault !== null) throw node.fault;
    node.made.push([run, dueAtMs]);
  };
  const jobs: readonly NodeJob[] = createBoardsJobs({
    boards: {
      refresh: boards.refresh,
      makeVotes: async (atMs) => {
        await boards.makeVotes(atMs);
        record('votes', atMs);
      },
      makeOthers: async (atMs, options) => {
        await boards.makeOthers(atMs, options);
        record('others', atMs);
      },
    },
    runs: createJobRuns(sql, name),
    meters: silentMeters,
    clock: { nowMs: () => nowMs },
    monotonicMs: () => 0,
    boardSeconds,
    onFailure: (job, error) => node.failures.push(`${job}: ${error.message}`),
  });
  const node: Node = {
    pausesMs: jobs.map(({ everyMs }) => everyMs),
    boards,
    made: [],
    failures: [],
    fault: null,
    look: async () => {
      for (const { run } of jobs) await run(stopping.signal);
    },
  };
  return node;
};

const [one, two] = [openNode('one'), openNode('two')];
await addUser(sql, 'robin');
await addBot(sql, 'bot1', { counted: { upvotes: 3 } });

const lookBoth = async (): Promise<void> => {
  await Promise.all([one.look(), two.look()]);
  await Promise.all([one.boards.refresh(), two.boards.refresh()]);
};
const minuteMs = 60_000;
const madeBy = (node: Node, name: string) => node.made.filter(([run]) => run === name).map(([, at]) => at);
/** Lets the pause after a failure pass. */
const endLeases = () => sql`update job_runs set lease_until = now() - interval '1 second'`;

test('of two nodes one makes each edition, and both show it', async () => {
  for (let minute = 0; minute < 21; minute++) {
    nowMs = startMs + minute * minuteMs + 1_000;
    await lookBoth();
    await lookBoth();
    const editions = [one, two].map(({ boards }) => boards.find('bot', 'votes'));
    assert.equal(
      editions.map((edition) => edition?.number),
      [startMs + minute * minuteMs, startMs + minute * minuteMs],
    );
  }
  const votes = [...madeBy(one, 'votes'), ...madeBy(two, 'votes')].sort();
  const others = [...madeBy(one, 'others'), ...madeBy(two, 'others')].sort();

  assert.equal(
    votes,
    Array.from({ length: 21 }, (_, minute) => startMs + minute * minuteMs),
  );
  assert.equal(others, [startMs, startMs + 10 * minuteMs, startMs + 20 * minuteMs]);
  assert.is(two.boards.find('bot', 'trending')?.number, startMs + 20 * minuteMs);
});

test('a run that failed after it wrote is made again, by any node, and changes nothing', async () => {
  nowMs = startMs + 30 * minuteMs;
  one.fault = new Error('the node ended here');
  await one.look();
  const edition = one.boards.find('bot', 'votes');
  await two.look();
  assert.is(two.made.at(-1)?.[1], startMs + 20 * minuteMs, 'not before the pause');
  await endLeases();
  await two.look();
  await two.boards.refresh();

  assert.equal(one.failures, ['board_votes: the node ended here', 'board_others: the node ended here']);
  assert.equal(two.made.slice(-2), [
    ['votes', nowMs],
    ['others', nowMs],
  ]);
  assert.equal(two.boards.find('bot', 'votes'), edition);
  one.fault = null;
});

test('after a downtime only the newest edition is made', async () => {
  nowMs = startMs + 300 * minuteMs + 5_000;
  const before = one.made.length;
  await one.look();

  assert.equal(one.made.slice(before), [
    ['votes', startMs + 300 * minuteMs],
    ['others', startMs + 300 * minuteMs],
  ]);
});

test('a clock that is behind, or ahead of the database, makes no edition', async () => {
  const before = [...one.made, ...two.made];
  for (const wrong of [nowMs - 60 * minuteMs, Date.now() + 86_400_000]) {
    nowMs = wrong;
    await lookBoth();
  }

  assert.equal([...one.made, ...two.made], before);
});

test('runs older than a day are forgotten', async () => {
  await sql`update job_runs set finished_at = now() - interval '2 days'`;
  nowMs = startMs + 400 * minuteMs;
  await one.look();
  const rows = await sql`select from job_runs where name in ('board_votes', 'board_others')`;

  assert.is(rows.length, 2);
});

test('the other boards are made ten times less often, but at least each hour', () => {
  const periods = [10, 60, 360, 600, 3_600].map((seconds) => [
    computePeriodMs('votes', seconds) / 1_000,
    computePeriodMs('trending', seconds) / 1_000,
  ]);

  assert.equal(periods, [
    [10, 100],
    [60, 600],
    [360, 3_600],
    [600, 3_600],
    [3_600, 3_600],
  ]);
});

test('an edition is made and seen within half the time between two, at most half a minute', () => {
  const listPausesMs = (boardSeconds: number) => openNode('other', boardSeconds).pausesMs;

  assert.equal([10, 30, 60, 3_600].map(listPausesMs), [
    [2_500, 2_500, 2_500],
    [7_500, 7_500, 7_500],
    [15_000, 15_000, 15_000],
    [15_000, 15_000, 15_000],
  ]);
});

test.run();
