/**
 * The naive model of the history: from what each listing had at each instant it computes all rows of all
 * levels (H1, H2), and from the votes that were cast the archive of a month (H3).
 */
import * as assert from 'uvu/assert';
import type { OutboxVote } from '../../../engine/ports.ts';
import { levelMinutes } from '../../../storage/history/levels.ts';
import { createHistory } from '../../../storage/history/read.ts';
import type { HistoryWorld } from './history-world.ts';

interface Row {
  readonly incarnation: number;
  readonly at: number;
  readonly clicks: number;
  readonly servers: number;
}

const toText = ({ incarnation, at, clicks, servers }: Row): string =>
  `${incarnation} ${at} ${clicks} ${servers}`;

/** A row for each listing and instant whose values differ from those of the instant before. */
const computeFine = ({ seen }: HistoryWorld): readonly Row[] => {
  const last = new Map<number, string>();
  const rows: Row[] = [];
  for (const [at, listings] of seen) {
    for (const [incarnation, values] of listings) {
      const text = `${values.clicks} ${values.servers}`;
      if (last.get(incarnation) !== text) rows.push({ incarnation, at, ...values });
      last.set(incarnation, text);
    }
  }
  return rows;
};

/** The last row of each listing within each period that has ended. */
const computePeriods = (fine: readonly Row[], minutes: number, newest: number): readonly Row[] => {
  const rows = new Map<string, Row>();
  for (const row of fine) {
    const at = Math.ceil(row.at / minutes) * minutes;
    if (at <= newest) rows.set(`${row.incarnation} ${at}`, { ...row, at });
  }
  return [...rows.values()];
};

const assertSame = (what: string, found: readonly string[], expected: readonly string[]): void => {
  const [has, wanted] = [new Set(found), new Set(expected)];
  const wrong = [
    ...found.filter((text) => !wanted.has(text)).map((text) => `too much: ${text}`),
    ...expected.filter((text) => !has.has(text)).map((text) => `missing: ${text}`),
  ];
  assert.equal(wrong.slice(0, 10), [], `${what}: ${wrong.length} of ${expected.length} rows`);
  assert.is(found.length, has.size, `${what}: no row twice`);
};

/** Compares all rows and times with the model. Resolves to the number of rows. */
export const judgeHistory = async (world: HistoryWorld): Promise<number> => {
  const instants = [...world.seen.keys()];
  const newest = Math.max(...instants);
  const fine = computeFine(world);
  const times = await createHistory(world.sql).times();
  let rows = 0;
  for (const level of ['fine', 'hours', 'days'] as const) {
    const minutes = level === 'fine' ? stepless : levelMinutes[level];
    const expected = level === 'fine' ? fine : computePeriods(fine, minutes, newest);
    const found = await world.sql<Row[]>`
      select incarnation, at, clicks, servers from ${world.sql(`history_${level}`)}`;
    assertSame(level, found.map(toText), expected.map(toText));
    const ends = new Set(instants.map((at) => Math.ceil(at / minutes) * minutes));
    assert.equal(
      times[level],
      [...ends].filter((at) => at <= newest),
      `times of ${level}`,
    );
    rows += found.length;
  }
  return rows;
};

/** Samples end where they are. */
const stepless = 1;

/** Compares the archive of March with the votes. */
export const judgeMonth = async (
  { sql }: HistoryWorld,
  votes: readonly Pick<OutboxVote, 'ref' | 'user' | 'upvote' | 'atMs'>[],
): Promise<void> => {
  const [from, to] = [Date.UTC(2026, 2, 1), Date.UTC(2026, 3, 1)];
  const counted = new Map<number, { up: number; down: number; users: Set<string> }>();
  for (const { ref, user, upvote, atMs } of votes) {
    if (atMs < from || atMs >= to) continue;
    const count = counted.get(ref.incarnation) ?? { up: 0, down: 0, users: new Set() };
    counted.set(ref.incarnation, count);
    count[upvote ? 'up' : 'down'] += 1;
    count.users.add(user);
  }
  const nets = [...counted.values()].map(({ up, down }) => up - down).sort((one, other) => other - one);
  const expected = [...counted].map(
    ([incarnation, { up, down, users }]) =>
      `${incarnation} ${up} ${down} ${users.size} ${nets.indexOf(up - down) + 1}`,
  );
  const rows = await sql<{ text: string }[]>`
    select concat_ws(' ', incarnation, upvotes, downvotes, voters, rank) as text
    from vote_months where month = '2026-03-01'`;
  assertSame(
    'votes of the month',
    rows.map(({ text }) => text),
    expected,
  );
};
