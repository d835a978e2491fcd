/**
 * Random timelines of some listings, with missed samples, new and deleted listings, against a naive
 * recomputation from what each sample saw. Run on both kinds of SQL.
 *
 * The time covers the leap day of 2028 and the end of its month. `HISTORY_SEED` repeats one timeline.
 */
import * as assert from 'uvu/assert';
import { buildSeries, listTimes } from '../../../http/api/history/history-points.ts';
import { createHistory } from '../../../storage/history/read.ts';
import type { Sql } from '../../../storage/sql/client.ts';
import { refOf } from '../../support/refs.ts';
import { addListing, createRunner, emptyHistory, setTotals, toMinute } from './world.ts';

type Claims = (title: string, claim: () => Promise<void>) => void;

/** A small generator of numbers from 0 to 1 (mulberry32). */
const createRandom = (seed: number) => (): number => {
  seed = (seed + 0x6d2b79f5) | 0;
  let mixed = Math.imul(seed ^ (seed >>> 15), 1 | seed);
  mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
  return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
};

interface Values {
  readonly clicks: number;
  readonly servers: number;
}
type Seen = ReadonlyMap<number, Values>;

const start = toMinute('2028-02-28T20:00Z');
const stepMinutes = 15;
const samples = 130;
const minutesOf = { fine: stepMinutes, hours: 60, days: 1_440 } as const;

/** Runs a timeline. Resolves to what each sample saw, and the listings that are left. */
const runTimeline = async (sql: Sql, random: () => number) => {
  const { run } = createRunner(sql, { historyFineMinutes: stepMinutes, historyFineHours: 168 });
  const living = new Map<number, Values>();
  const seen = new Map<number, Seen>();
  for (let sample = 0; sample < samples; sample++) {
    const at = start + sample * stepMinutes;
    if (living.size < 6 && random() < 0.2) {
      living.set(await addListing(sql, `bot${sample}`), { clicks: 0, servers: 0 });
    }
    for (const [incarnation, values] of living) {
      if (random() < 0.02 && living.size > 2) {
        await sql`delete from totals where incarnation = ${incarnation}`;
        living.delete(incarnation);
      } else if (random() < 0.25) {
        const clicks = values.clicks + Math.floor(random() * 5);
        const next = { clicks, servers: Math.floor(random() * 3) };
        await setTotals(sql, incarnation, next);
        living.set(incarnation, next);
      }
    }
    if (random() < 0.25 || (sample > 60 && sample < 70)) continue;
    await run(at);
    seen.set(at, new Map(living));
  }
  return { seen, living: [...living.keys()] };
};

/** The values at the last sample within the period that ends at `time`. */
const findExpected = (
  seen: ReadonlyMap<number, Seen>,
  incarnation: number,
  { time, minutes }: { readonly time: number; readonly minutes: number },
): Values | null => {
  const within = [...seen.keys()].filter((at) => at > time - minutes && at <= time);
  const newest = Math.max(...seen.keys());
  if (within.length === 0 || time > newest) return null;
  return seen.get(Math.max(...within))?.get(incarnation) ?? null;
};

export const registerHistoryModelTest = (test: Claims, open: () => Sql): void => {
  test('random timelines give the points of a naive recomputation at every level', async () => {
    const seed = Number(process.env.HISTORY_SEED ?? Math.floor(Math.random() * 2 ** 31));
    const sql = await emptyHistory(open());
    const { seen, living } = await runTimeline(sql, createRandom(seed));
    const history = createHistory(sql);
    const known = await history.times();
    for (const incarnation of living) {
      for (const level of ['fine', 'hours', 'days'] as const) {
        const minutes = minutesOf[level];
        const to = start + samples * stepMinutes;
        for (const from of [start - 1_440, start + 600]) {
          const times = listTimes({ from, to }, { minutes });
          const [first = 0] = times;
          const rows = await history.rows(refOf('bot', 'any', incarnation), {
            level,
            from: first,
            to,
          });
          const input = {
            times,
            rows,
            known: new Set(known[level]),
            metrics: ['clicks', 'servers'] as const,
          };
          const series = buildSeries({ ...input, change: false });
          const expected = times.map((time) => findExpected(seen, incarnation, { time, minutes }));
          const title = `${level} of ${incarnation}, HISTORY_SEED=${seed}`;
          const show = (name: keyof Values) => expected.map((values) => String(values?.[name] ?? null));
          assert.equal(series.get('clicks'), show('clicks'), title);
          assert.equal(series.get('servers'), show('servers'), title);
          const changes = buildSeries({ ...input, change: true }).get('clicks') ?? [];
          assertAddUp(changes, expected, title);
        }
      }
    }
  });
};

/** The changes after the first value are the whole change. */
const assertAddUp = (changes: readonly string[], expected: readonly (Values | null)[], title: string) => {
  const first = expected.findIndex((values) => values !== null);
  if (first < 0) return;
  const sum = changes.slice(first + 1).reduce((total, change) => total + (Number(change) || 0), 0);
  const last = expected.findLast((values) => values !== null);
  assert.is(sum, (last?.clicks ?? 0) - (expected[first]?.clicks ?? 0), title);
};
