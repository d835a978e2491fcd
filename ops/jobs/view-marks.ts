/**
 * Counts the page views that a filter would remove: those of one address on one listing beyond the third in
 * an hour, and those of programs that identify themselves as no browser. Nothing is removed; operators only
 * see the numbers, by listing and hour.
 *
 * The counters are in memory and hold no address. Several addresses may share a counter, so the numbers are
 * hints. When the node ends, the counts of the current hour are lost.
 */
import { createTwoGenerationCache } from '../../engine/tools/two-generation-cache.ts';
import { addViewMarks, type ViewMarks } from '../../storage/ledger/vote-flags.ts';
import type { Sql } from '../../storage/sql/client.ts';
import type { NodeJob } from './job.ts';

const hourMs = 3_600_000;
const pauseMs = 60_000;
/** Counters of visitors, of one byte each. */
const visitorCounts = 2 ** 20;
const listingsMax = 100_000;
const agentsMax = 500;
/** A visitor's views within an hour that do not count as repeated. */
const viewsOfVisitor = 3;
/** Fewer marked views than this, or a smaller share of the listing's views, are not worth a row. */
const marksMin = 20;
const marksShareMin = 0.2;

const robots =
  /bot\b|crawl|spider|slurp|preview|fetch|curl|wget|python|java\/|okhttp|axios|go-http|headless/i;

/** FNV-1a. */
const hashText = (text: string, seed: number): number => {
  let hash = seed ^ 0x811c9dc5;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return hash >>> 0;
};

/** Writes the hour that has ended, with the next run. */
export const createViewWatch = (sql: Sql, clock: { nowMs(): number }) => {
  const visitors = new Uint8Array(visitorCounts);
  const agents = createTwoGenerationCache<boolean>(agentsMax);
  let listings = new Map<number, { views: number; repeated: number; robots: number }>();
  let hour = Math.floor(clock.nowMs() / hourMs);
  const isRobot = (agent: string): boolean => {
    const known = agents.get(agent);
    if (known !== undefined) return known;
    const judged = agent === '' || robots.test(agent);
    agents.set(agent, judged);
    return judged;
  };
  const job: NodeJob = {
    name: 'view_marks',
    everyMs: pauseMs,
    run: async () => {
      const now = Math.floor(clock.nowMs() / hourMs);
      if (now === hour) return;
      const marks: ViewMarks[] = [...listings]
        .map(([incarnation, counts]) => ({ incarnation, ...counts }))
        .filter(
          ({ views, repeated, robots: byRobots }) =>
            repeated + byRobots >= Math.max(marksMin, marksShareMin * views),
        );
      const atMs = hour * hourMs;
      [hour, listings] = [now, new Map()];
      visitors.fill(0);
      if (marks.length > 0) await addViewMarks(sql, marks, atMs);
    },
  };
  return {
    /** Looks at a view that the engine counted. */
    note: (incarnation: number, address: string, agent: string): void => {
      let counts = listings.get(incarnation);
      if (counts === undefined) {
        if (listings.size >= listingsMax) return;
        counts = { views: 0, repeated: 0, robots: 0 };
        listings.set(incarnation, counts);
      }
      counts.views += 1;
      const slot = hashText(address, incarnation) % visitorCounts;
      const views = visitors[slot] ?? 0;
      if (views <= viewsOfVisitor) visitors[slot] = views + 1;
      if (isRobot(agent)) counts.robots += 1;
      else if (views >= viewsOfVisitor) counts.repeated += 1;
    },
    job,
  };
};
