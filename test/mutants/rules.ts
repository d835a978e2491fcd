/**
 * Guards of the rules of one item, each with its patch: facts, votes, clicks, uptime, sessions.
 *
 * Every one must be killed by a test that is quick. What a mutant is: mutant.ts.
 */
import type { Mutant } from './mutant.ts';

const apply = 'engine/entity/apply.ts';
const applyTest = 'test/engine/entity/apply.test.ts';

export const ruleMutants: readonly Mutant[] = [
  {
    name: 'a vote on the weekend has as many itags as on other days',
    file: 'engine/entity/votes.ts',
    find: `(isWeekend(atMs) ? weekend : standard).perUser)`,
    replace: `standard.perUser)`,
    killers: ['test/engine/entity/votes.test.ts'],
    why: 'the store would throw for lack of an itag, and the whole batch would be refused again and again',
  },
  {
    name: 'forget leaves no tombstone',
    file: apply,
    find: `slot: { incarnation, state: null }, effects`,
    replace: `slot: null, effects`,
    why: 'a late batch would bring a deleted listing back (I12)',
  },
  {
    name: 'items change deleted listings',
    file: apply,
    find: `  if (isDeleted) return keepSlot(slot, item.kind === 'forget' ? applied : forgotten);\n`,
    replace: '',
    why: 'an item of an earlier listing would count for the next one (I12)',
  },
  {
    name: 'init of an active entity',
    file: apply,
    find: `    case 'init':\n      return keepSlot(slot, applied);`,
    replace: `    case 'init':\n      return applyInit(slot, item, context);`,
    why: 'the second node to activate an entity would reset it to its SQL row (I1)',
  },
  {
    name: 'init from a row newer than the shard',
    file: apply,
    find: `  if (isBefore({ generation, version: shardVersion }, row)) return keepSlot(slot, behind);\n`,
    replace: '',
    why: 'flushes of an emptied store would never override the SQL row (I10)',
  },
  {
    name: 'an adjustment applies twice',
    file: apply,
    find: `  if (item.sequence <= state.adjustment) return keepSlot(slot, applied);\n`,
    replace: `  if (item.sequence <= state.adjustment) item = { ...item, sequence: state.adjustment + 1 };\n`,
    why: 'a delivery repeated after a crash would take votes twice (I6)',
  },
  {
    name: 'an adjustment skips one',
    file: apply,
    find: `  if (item.sequence !== state.adjustment + 1) return keepSlot(slot, gap);\n`,
    replace: '',
    why: 'the skipped one would count as delivered (I6)',
  },
  {
    name: 'facts go back',
    file: apply,
    find: `      if (item.facts.revision <= slot.state.facts.revision) return keepSlot(slot, applied);\n`,
    replace: '',
    why: 'a late refresh would undo a ban',
  },
  {
    name: 'the window of a vote',
    file: 'engine/entity/votes.ts',
    find: `  if (sinceMs > 0 && atMs < retryAtMs) return refuseVote('wait', retryAtMs);\n`,
    replace: '',
    why: 'a user could vote without end (I5)',
  },
  {
    name: 'a vote ahead of the clock',
    file: 'engine/entity/votes.ts',
    find: `  if (atMs > nowMs + limits.clockAheadMaxMs) return 'clock_ahead';\n`,
    replace: '',
    why: 'a node whose clock is wrong could vote for tomorrow (I5)',
  },
  {
    name: 'a vote behind the clock',
    file: 'engine/entity/votes.ts',
    find: `atMs < nowMs - limits.clockBehindMaxMs ? 'clock_behind' : null`,
    replace: `null`,
    why: 'a vote taken by a node with a slow clock would make its voter wait too briefly (I5)',
  },
  {
    name: 'pinned and released vote records',
    file: 'engine/entity/votes.ts',
    find: `vote.flag === 'pinned' || (vote.flag === 'cast' && vote.atMs >= releasedBeforeMs)`,
    replace: 'vote.atMs > 0',
    why: 'voters of void votes would still wait, and those who redeemed would wait too briefly (I5)',
  },
  {
    name: 'the cap of visitors',
    file: 'engine/entity/apply.ts',
    find: `  state.uniqueClicks < visitorsMax && state.uniqueClicks <= state.clicks;`,
    replace: `  visitorsMax > 0 && state.uniqueClicks <= state.clicks;`,
    killers: ['test/engine/entity/clicks.test.ts', applyTest],
    why: 'the set of visitors would grow without bound (I15)',
  },
  {
    name: 'outages of the fleet',
    file: 'engine/entity/uptime.ts',
    find: `    count -= countChecks(downFromMs, Math.min(toMs, downtime.toMs - 1), rules.checkMs);\n`,
    replace: `    count -= countChecks(downFromMs, downFromMs, rules.checkMs);\n`,
    why: 'bots would lose uptime for our own outages',
  },
  {
    name: 'limits of a minted session',
    file: 'engine/rules/permissions.ts',
    find: ` && (limits.length === 0 || includesPermission(limits, needed));`,
    replace: `;`,
    killers: ['test/engine/rules/sessions.test.ts'],
    why: 'a limited token could mint one without limits',
  },
];
