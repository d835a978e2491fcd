/**
 * Guards of the engine, each with its patch: rules of one item, the output gate, the flusher, the actors.
 *
 * Every one must be killed by a test that is quick. What a mutant is: mutant.ts. Called by patches.ts.
 */
import type { Mutant } from './mutant.ts';
import { ringMutants } from './retransmit-buffer.ts';

const apply = 'engine/entity/apply.ts';
const gate = 'engine/commit/output-gate.ts';
const history = 'engine/entity/history.ts';
const flusher = 'engine/flush/flusher.ts';
const applyTest = 'test/engine/entity/apply.test.ts';
const gateTest = 'test/engine/commit/output-gate.test.ts';
const freshnessTest = 'test/engine/actors/staleness-poller.test.ts';
const staleTest = 'test/engine/actors/stale-states.test.ts';
const lossesTest = 'test/engine/commit/output-gate-losses.test.ts';
const flusherTest = 'test/engine/flush/flusher.test.ts';
const assertionsTest = 'test/engine/assertions.test.ts';
const commandsTest = 'test/engine/commands.test.ts';
const votesTest = 'test/engine/entity/votes.test.ts';

const ruleMutants: readonly Mutant[] = [
  {
    name: 'forget leaves no tombstone',
    file: apply,
    find: `slot: { incarnation: slot.incarnation, state: null },\n`,
    replace: `slot: null,\n`,
    killers: [applyTest],
    why: 'a late batch would bring a deleted listing back (I12)',
  },
  {
    name: 'items change deleted listings',
    file: apply,
    find: `  if (isDeleted) return keepSlot(slot, item.kind === 'forget' ? applied : forgotten);\n`,
    replace: '',
    killers: [applyTest],
    why: 'an item of an earlier listing would count for the next one (I12)',
  },
  {
    name: 'init of an active entity',
    file: apply,
    find: `    case 'init':\n    case 'remember':\n      return keepSlot(slot, applied);`,
    replace:
      `    case 'init':\n      return applyInit(slot, item, context);\n` +
      `    case 'remember':\n      return keepSlot(slot, applied);`,
    killers: [applyTest],
    why: 'the second node to activate an entity would reset it to its SQL row (I1)',
  },
  {
    name: 'init from a row newer than the shard',
    file: apply,
    find: `  if (isBefore({ generation, version: shardVersion }, row)) return keepSlot(slot, behind);\n`,
    replace: '',
    killers: [applyTest],
    why: 'flushes of an emptied store would never override the SQL row (I10)',
  },
  {
    name: 'an adjustment applies twice',
    file: apply,
    find: `  if (item.sequence <= state.adjustment) return keepSlot(slot, applied);\n`,
    replace: `  if (item.sequence <= state.adjustment) item = { ...item, sequence: state.adjustment + 1 };\n`,
    killers: [applyTest],
    why: 'a delivery repeated after a crash would take votes twice (I6)',
  },
  {
    name: 'an adjustment skips one',
    file: apply,
    find: `  if (item.sequence !== state.adjustment + 1) return keepSlot(slot, gap);\n`,
    replace: '',
    killers: [applyTest],
    why: 'the skipped one would count as delivered (I6)',
  },
  {
    name: 'facts go back',
    file: apply,
    find: `      if (item.facts.revision <= slot.state.facts.revision) return keepSlot(slot, applied);\n`,
    replace: '',
    killers: [applyTest],
    why: 'a late refresh would undo a ban',
  },
  {
    name: 'the window of a vote',
    file: 'engine/entity/votes.ts',
    find: `  if (sinceMs > 0 && atMs < retryAtMs) return refuseVote('wait', retryAtMs);\n`,
    replace: '',
    killers: [votesTest],
    why: 'a user could vote without end (I5)',
  },
  {
    name: 'a vote ahead of the clock',
    file: 'engine/entity/votes.ts',
    find: `  if (atMs > context.nowMs + limits.clockAheadMaxMs) return refuseVote('clock_ahead');\n`,
    replace: '',
    killers: [votesTest],
    why: 'a node whose clock is wrong could vote for tomorrow (I5)',
  },
  {
    name: 'a vote behind the clock',
    file: 'engine/entity/votes.ts',
    find: `  if (late && context.lost !== true) return refuseVote('clock_behind');\n`,
    replace: '',
    killers: [votesTest],
    why: 'a vote taken by a node with a slow clock would make its voter wait too briefly (I5)',
  },
  {
    name: 'pinned and released vote records',
    file: 'engine/entity/votes.ts',
    find: `vote.flag === 'held' || (vote.flag === 'cast' && vote.atMs >= releasedBeforeMs)`,
    replace: 'vote.atMs > 0',
    killers: [votesTest],
    why: 'voters of void votes would still wait, and those who redeemed would wait too briefly (I5)',
  },
  {
    name: 'the cap of visitors',
    file: 'engine/entity/clicks.ts',
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
    killers: ['test/engine/entity/uptime.test.ts'],
    why: 'bots would lose uptime for our own outages',
  },
  {
    name: 'limits of a minted session',
    file: 'engine/rules/sessions.ts',
    find: ` && (limits.length === 0 || includesPermission(limits, id));`,
    replace: `;`,
    killers: ['test/engine/rules/sessions.test.ts'],
    why: 'a limited token could mint one without limits',
  },
];

const gateMutants: readonly Mutant[] = [
  {
    name: 'a batch of unknown outcome gets a new number',
    file: gate,
    find: `  if (outcome === 'unknown') queue.outcomeUnknown = true;\n`,
    replace: `  if (outcome === 'unknown') {
    queue.outcomeUnknown = true;
    for (const { batch, shardQueue } of queue.sealed) {
      shardQueue.sequence += 1;
      Object.assign(batch, { sequence: batch.sequence + 1 });
    }
  }\n`,
    killers: [gateTest],
    why: 'a batch that was applied would count again (I3)',
  },
  {
    name: 'a refusal after an unknown outcome is trusted',
    file: gate,
    find: `  if (!queue.outcomeUnknown) {\n    for`,
    replace: `  if (outcome === 'not_applied') {\n    for`,
    killers: [gateTest],
    why: 'an earlier copy may still be applied under a reused number (I3)',
  },
  {
    name: 'a definite refusal uses the number up',
    file: gate,
    find:
      `    for (const sealed of takeSealed(queue)) failBatch(gate, sealed, notApplied);\n` +
      `    becomeQuiet(gate, queue);`,
    replace: `    for (const sealed of takeSealed(queue)) {
      sealed.shardQueue.sequence = sealed.batch.sequence;
      failBatch(gate, sealed, notApplied);
    }
    becomeQuiet(gate, queue);`,
    killers: [gateTest],
    why: 'the next batch would leave a gap, and a gap is taken for a loss (I3)',
  },
  {
    name: 'no new generation after a gap',
    file: gate,
    find: `  await gate.recover(shardQueues.map((shardQueue) => shardQueue.shard));\n`,
    replace: '',
    killers: [lossesTest],
    why: 'flushes of a store that fell back would lose against SQL (I10, I14)',
  },
  {
    name: 'a version that fell goes unnoticed',
    file: gate,
    find: `const fellBack = hasFallenBack(reply, shardQueue);`,
    replace: `const fellBack = reply.version < -2;`,
    killers: [lossesTest],
    why: 'the same (I10, I14)',
  },
  {
    name: 'a reply that does not match its batch is adopted',
    file: gate,
    find: `  assertReplies(queue.sealed, replies);\n`,
    replace: '',
    killers: [assertionsTest],
    why: 'a decision would be given to the wrong client (I1, I2)',
  },
  {
    name: 'any change of mode is allowed',
    file: 'engine/commit/commit-queue.ts',
    find: `if (!modesAfter[queue.mode].includes(mode))`,
    replace: `if (!(mode in modesAfter))`,
    killers: [assertionsTest],
    why: 'a second call could go out while the first is open (I3)',
  },
  {
    name: 'answers before adoption',
    file: gate,
    find: `  gate.adopt(sealed.batch, reply, foreign);\n`,
    replace: `  queueMicrotask(() => gate.adopt(sealed.batch, reply, foreign));\n`,
    killers: [gateTest],
    why: 'a client would not find its acknowledged change (I9)',
  },
  {
    name: 'writes of other nodes go unnoticed',
    file: gate,
    find: `const foreign = !isDirectSuccessor(reply, shardQueue, sealed.batch);`,
    replace: `const foreign = shardQueue.version < -1;`,
    killers: [lossesTest],
    why: 'live actors would show old numbers for ever (I9, I13)',
  },
  {
    name: 'a refusal answers a vote whose first copy may be lost',
    file: gate,
    find: `outcomeUnknown && mayHaveLost`,
    replace: `false`,
    killers: [lossesTest],
    why: 'a vote that counted and is in SQL would be answered as refused or not applied (I2)',
  },
  {
    name: 'another chain hash at an equal version goes unnoticed',
    file: history,
    find: ` && now.chainHash !== known.chainHash\n`,
    replace: ` && now.chainHash < 0\n`,
    killers: [freshnessTest],
    why: 'nodes would show lost changes for ever (I9)',
  },
  {
    name: 'a lost click that the row includes forgets its visitor',
    file: 'engine/entity/apply.ts',
    find: `effects: [{ kind: 'visitor', visitor: item.visitor }] }`,
    replace: `effects: none }`,
    killers: [applyTest],
    why: 'a visitor who returns after the store lost its newest writes would count twice (I7)',
  },
  {
    name: 'a new generation at an equal version goes unnoticed',
    file: 'engine/actors/staleness-poller.ts',
    find: ` || now.generation !== seen.generation)
      state.registry.discardShard(shard, noExceptions);
    else if (hasMoved(now, seen)) {`,
    replace: `)
      state.registry.discardShard(shard, noExceptions);
    else if (now.version > seen.version) {`,
    killers: [freshnessTest],
    why: 'a node would show for ever what a store lost and another node resent (I9)',
  },
  {
    name: 'changes of other nodes leave states current',
    file: 'engine/actors/staleness-poller.ts',
    find: `registry.markStale(address, version);\n`,
    replace: `registry.markStale(address, 0 * version);\n`,
    killers: [staleTest],
    why: 'live actors would show old numbers for ever (I9, I13)',
  },
  {
    name: 'unknown changes leave states current',
    file: 'engine/actors/staleness-poller.ts',
    find: `  if (changed === null) registry.discardShard(shard, noExceptions);\n  else for`,
    replace: `  if (changed !== null) for`,
    killers: [staleTest],
    why: 'a node that polls late would show old numbers for ever (I9)',
  },
  {
    name: 'a load makes a state current that changed meanwhile',
    file: 'engine/actors/registry.ts',
    find: `  actor.reload(loaded, staleBelow);\n`,
    replace: `  actor.reload(loaded, 0 * staleBelow);\n`,
    killers: [staleTest],
    why: 'a change that another node made during a load would stay invisible (I9)',
  },
  {
    name: 'an activation forgets what the discarded actor has shown',
    file: 'engine/actors/registry.ts',
    find: `    state.latestStates.set(address, { ref, generation, state: actor.getLazyState() });\n`,
    replace: '',
    killers: ['test/engine/actors/registry.test.ts'],
    why: 'a reader would see a state older than one that this node has shown (I8, I9)',
  },
  {
    name: 'no deadline in the output gate',
    file: gate,
    find: `    countPending(gate, -gate.commitQueues.expireTurns(gate.clock.monotonicMs()));\n`,
    replace: '',
    killers: [gateTest],
    why: 'while the store hangs no request would be answered (I15)',
  },
  {
    name: 'the limit of pending turns',
    file: gate,
    find: `gate.refusing || gate.pendingCount >= limits.pendingItemsMax`,
    replace: `gate.refusing`,
    killers: [gateTest],
    why: 'a store that hangs would fill the memory (I15)',
  },
  {
    name: 'an actor shows what is only pending',
    file: 'engine/turns.ts',
    find: `    const turn = new Turn(command.makeItem(actor.ref), deadlineMs, this);\n`,
    replace: `    const turn = new Turn(command.makeItem(actor.ref), deadlineMs, this);
      const pending = turn.item;
      if (pending.kind === 'stats') {
        const state = { ...actor.readState(), servers: pending.servers ?? '' };
        const shown = { version: state.version, votes: 0, flushedVotes: 0, read: () => state };
        actor.adopt(actor.generation, shown);
      }\n`,
    killers: [commandsTest],
    why: 'a reader would see changes that a crash undoes (I2)',
  },
  {
    name: 'votes of one user all go out',
    file: 'engine/commands.ts',
    find: `    if (earlierVote === undefined) {\n      this.outcomeUnknown`,
    replace: `    if (earlierVote !== null) {\n      this.outcomeUnknown`,
    killers: [commandsTest],
    why: 'the votes behind one of unknown outcome could count after it (I5)',
  },
  {
    name: 'the limit of the outbox',
    file: 'engine/commands.ts',
    find: `  isOutboxFull(core)\n`,
    replace: `  isOutboxFull(core) && limits.outboxVotesHigh === 0\n`,
    killers: [commandsTest],
    why: 'while SQL is unavailable votes would fill the store (I15)',
  },
  {
    name: 'a late reply of a poll wins',
    file: 'engine/actors/registry.ts',
    find: `    const newest = chooseNewer(activated, state.latestStates.get(activated.ref.address));\n`,
    replace: `    const newest = activated;\n`,
    killers: ['test/engine/actors/registry.test.ts'],
    why: 'an acknowledged change would not be visible (I9)',
  },
];

const flusherMutants: readonly Mutant[] = [
  {
    name: 'a refused round becomes dead letters without bisection',
    file: flusher,
    find:
      `if (part.entities.length + part.votes.length > 1) stack.push(...splitInHalves(part));\n` +
      `      else await`,
    replace: `await`,
    killers: [flusherTest],
    why: 'one bad row would take its whole round with it (I11)',
  },
  {
    name: 'flushes are acknowledged before the ledger has them',
    file: flusher,
    find: `  await flushOrHalve(state, backlog);\n`,
    replace: `  await state.hot.markFlushed({
    entities: [],
    votes: backlog.votes.map(({ itag, ref }) => ({ itag, shard: ref.shard })),
  });
  await flushOrHalve(state, backlog);\n`,
    killers: [flusherTest],
    why: 'a crash in between would lose votes (I11)',
  },
  {
    name: 'reads that need no early flush wait for one',
    file: flusher,
    find: `  if (open.votes.length === 0) return;\n`,
    replace: '',
    killers: [flusherTest],
    why: 'while SQL is unavailable reads of old votes would fail',
  },
  {
    name: 'reads that need an early flush do not wait',
    file: flusher,
    find: `  if (open.votes.length === 0) return;\n`,
    replace: `  if (open.votes.length >= 0) return;\n`,
    killers: [flusherTest],
    why: 'an answer about past votes would miss the newest (I9)',
  },
  {
    name: 'a lost ledger goes unnoticed',
    file: 'engine/flush/generations.ts',
    find: `    throw new StoresDisagree(ledgerLost);\n`,
    replace: `    hotGenerations.slice();\n`,
    killers: ['test/engine/flush/generations.test.ts'],
    why: 'two directories would be mixed into one (I14)',
  },
  {
    name: 'stuck adjustments are overtaken',
    file: 'engine/flush/delivery.ts',
    find: `    if (stuck.has(incarnation)) continue;\n`,
    replace: '',
    killers: ['test/engine/flush/delivery.test.ts'],
    why: 'adjustments would arrive out of order (I6)',
  },
];

export const engineMutants: readonly Mutant[] = [
  ...ruleMutants,
  ...gateMutants,
  ...ringMutants,
  ...flusherMutants,
];
