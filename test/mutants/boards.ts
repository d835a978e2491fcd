/**
 * Guards of leaderboards, each with its patch.
 *
 * Every one must be killed by a test that is quick. What a mutant is: mutant.ts.
 */
import type { Mutant } from './mutant.ts';

const editions = 'storage/catalogue/boards/editions.ts';
const boardsTest = 'test/storage/catalogue/boards.test.ts';
const uptimeTest = 'test/storage/catalogue/boards-uptime.test.ts';
const timelineTest = 'test/storage/catalogue/boards-timeline.test.ts';
const routesTest = 'test/http/api/leaderboards.test.ts';

export const boardMutants: readonly Mutant[] = [
  {
    name: 'an older edition of a board replaces a newer one',
    file: editions,
    find: `else old.former end
  where old.edition < excluded.edition`,
    replace: `else old.former end`,
    killers: [boardsTest],
    why: 'a node that stalled would show an old board to the fleet',
  },
  {
    name: 'equal scores keep their places on a board',
    file: editions,
    find: `    select incarnation, score, ratio, place from scored left join earlier using (incarnation)
    order by score desc, place, incarnation limit`,
    replace: `    select incarnation, score, ratio, place from scored left join earlier using (incarnation)
    order by score desc, incarnation limit`,
    killers: [boardsTest],
    why: 'listings with equal votes would push each other off the board',
  },
  {
    name: 'a listing with a place stays a candidate among equal scores',
    file: 'storage/catalogue/boards/tally.ts',
    find: `score > least || placed.has(incarnation)`,
    replace: `score > least`,
    killers: ['test/storage/catalogue/boards-tally.test.ts'],
    why: 'a listing would lose its place to an older one with the same score',
  },
  {
    name: 'a listing that keeps its place is found on the board of votes',
    file: editions,
    find: `          \${listed} where votes > 0)
    \${buildPlaces`,
    replace: `          \${listed} where votes > 1000000000)
    \${buildPlaces`,
    killers: [boardsTest],
    why: 'it would lose its place to an older listing with equal votes',
  },
  {
    name: 'the page of a board leaves out what is not listed',
    file: 'storage/catalogue/boards/boards.ts',
    find: `listedTypes.includes(type) && state === 'public'`,
    replace: 'type !== state',
    killers: [boardsTest],
    why: 'a denied bot would stay on a page until the next edition',
  },
  {
    name: 'downtimes on the board of uptime',
    file: 'storage/catalogue/boards/uptime.ts',
    find: `down.ends) + 1]`,
    replace: `down.ends) + 2]`,
    killers: [uptimeTest],
    why: 'bots would lose places for our own downtimes',
  },
  {
    name: 'votes that a reset has not yet taken from the totals',
    file: 'storage/catalogue/boards/scores.ts',
    find: `then board_listings.votes_period else 0 end`,
    replace: `then 0 else 0 end`,
    killers: [timelineTest],
    why: 'the votes of a month would count twice for a while',
  },
  {
    name: 'a pass of the boards goes beyond its first step',
    file: 'storage/history/steps.ts',
    find: `isLast: listings < limit`,
    replace: `isLast: true`,
    killers: [boardsTest],
    why: 'only the oldest listings would be on the boards',
  },
  {
    name: 'only votes that the log numbered are new',
    file: 'storage/catalogue/boards/memory.ts',
    find: `least(greatest(0, totals.votes_logged - seen.votes_logged),`,
    replace: `least(1000000000,`,
    killers: [timelineTest],
    why: 'a monthly reset would look like many new votes',
  },
  {
    name: 'a rank of what is not listed',
    file: 'http/api/leaderboards.ts',
    find: '  if (state.facts.listed) return ref;\n  throw createNotFoundError(kind);\n',
    replace: '  return state.facts.listed ? ref : ref;\n',
    killers: [routesTest],
    why: 'a rank would tell that an unlisted entity exists',
  },
];
