/**
 * Guards of the engine, each with its patch: the output gate, the flusher, the actors.
 *
 * Every one must be killed by a test that is quick. What a mutant is: mutant.ts.
 */
import type { Mutant } from './mutant.ts';
import { ringMutants } from './retransmit-buffer.ts';

const gate = 'engine/commit/output-gate.ts';
const history = 'engine/entity/history.ts';
const flusher = 'engine/flush/flusher.ts';
const freshnessTest = 'test/engine/actors/staleness-poller.test.ts';
const staleTest = 'test/engine/actors/stale-states.test.ts';
const lossesTest = 'test/engine/commit/output-gate-losses.test.ts';
const assertionsTest = 'test/engine/assertions.test.ts';
const commandsTest = 'test/engine/commands.test.ts';

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
    why: 'a batch that was applied would count again (I3)',
  },
  {
    name: 'a refusal after an unknown outcome is trusted',
    file: gate,
    find: `  if (!queue.outcomeUnknown) {\n    for`,
    replace: `  if (outcome === 'not_applied') {\n    for`,
    why: 'an earlier copy may still be applied under a reused number (I3)',
  },
  {
    name: 'a definite refusal uses the number up',
    file: gate,
    find: `      failTurns(gate, isOpening(sealed) ? takeWaiting(sealed.shardQueue) : sealed, notApplied);`,
    replace: `    {
      sealed.shardQueue.sequence = sealed.batch.sequence;
      failTurns(gate, isOpening(sealed) ? takeWaiting(sealed.shardQueue) : sealed, notApplied);
    }`,
    why: 'the next batch would leave a gap, and a gap is taken for a loss (I3)',
  },
  {
    name: 'no new generation after a gap',
    file: gate,
    find: `  const generation = await gate.recover(broken.map(({ shard }) => shard));\n`,
    replace: `  const generation = 0;\n`,
    killers: [lossesTest],
    why: 'flushes of a store that fell back would lose against SQL (I10, I14)',
  },
  {
    name: 'a version that fell goes unnoticed',
    file: gate,
    find: `const fellBack = recordLostTail(shardQueue, reply);`,
    replace: `const fellBack = reply.version < -2;`,
    killers: [lossesTest],
    why: 'the same (I10, I14)',
  },
  {
    name: 'a new generation that the store lost goes unnoticed',
    file: 'engine/commit/shard-queue.ts',
    find: `reply.generation < shardQueue.renewed || `,
    replace: ``,
    killers: [lossesTest],
    why: 'a start would empty the shard, with what was acknowledged since (I1)',
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
    name: 'a change on a shard that fell back is acknowledged',
    file: gate,
    find: `tail: fellBack });`,
    replace: `tail: false });`,
    killers: [lossesTest],
    why: 'the next start would empty the shard, and what was acknowledged with it (I1)',
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
    why: 'a reader would see a state older than one that this node has shown (I8, I9)',
  },
  {
    name: 'no deadline in the output gate',
    file: gate,
    find: `    countPending(gate, -gate.commitQueues.expireTurns(gate.clock.monotonicMs()));\n`,
    replace: '',
    why: 'while the store hangs no request would be answered (I15)',
  },
  {
    name: 'the limit of pending turns',
    file: gate,
    find: `gate.refusing || gate.pendingCount >= limits.pendingItemsMax`,
    replace: `gate.refusing`,
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
    why: 'the votes behind one of unknown outcome could count after it (I5)',
  },
  {
    name: 'the limit of the outbox',
    file: 'engine/commands.ts',
    find: `  isOutboxFull(core)\n`,
    replace: `  isOutboxFull(core) && limits.outboxVotesHigh === 0\n`,
    why: 'while SQL is unavailable votes would fill the store (I15)',
  },
  {
    name: 'a late reply of a poll wins',
    file: 'engine/actors/registry.ts',
    find: `    const newest = chooseNewer(activated, state.latestStates.get(activated.ref.address));\n`,
    replace: `    const newest = activated;\n`,
    why: 'an acknowledged change would not be visible (I9)',
  },
];

const flusherMutants: readonly Mutant[] = [
  {
    name: 'a round ends between two requests',
    file: 'engine/flush/round.ts',
    find: `readTime(vote) !== time);\n  if`,
    replace: `vote !== undefined);\n  if`,
    killers: ['test/engine/flush/round.test.ts'],
    why: 'the votes of one request would be two webhook events',
  },
  {
    name: 'no total without the rows of all its votes',
    file: 'engine/flush/round.ts',
    find: `!dropped.has(ref.address)`,
    replace: `dropped !== undefined && ref !== undefined`,
    killers: ['test/engine/flush/round.test.ts'],
    why: 'a hot store that is emptied later would count the votes that waited twice',
  },
  {
    name: 'a refused round becomes dead letters without bisection',
    file: flusher,
    find:
      `if (part.entities.length + part.votes.length > 1) stack.push(...splitInHalves(part));\n` +
      `      else await`,
    replace: `await`,
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
    why: 'a crash in between would lose votes (I11)',
  },
  {
    name: 'reads that need no early flush wait for one',
    file: flusher,
    find: `  if (open.votes.length === 0) return;\n`,
    replace: '',
    why: 'while SQL is unavailable reads of old votes would fail',
  },
  {
    name: 'reads that need an early flush do not wait',
    file: flusher,
    find: `  if (open.votes.length === 0) return;\n`,
    replace: `  if (open.votes.length >= 0) return;\n`,
    why: 'an answer about past votes would miss the newest (I9)',
  },
  {
    name: 'a lost ledger goes unnoticed',
    file: 'engine/flush/generations.ts',
    find: `    throw new StoresDisagree(ledgerLost);\n`,
    replace: `    hotGenerations.slice();\n`,
    why: 'two directories would be mixed into one (I14)',
  },
  {
    name: 'stuck adjustments are overtaken',
    file: 'engine/flush/delivery.ts',
    find: 'if (!stuck.has(adjustment.item.target.incarnation)) await',
    replace: 'await',
    why: 'adjustments would arrive out of order (I6)',
  },
];

export const engineMutants: readonly Mutant[] = [...gateMutants, ...ringMutants, ...flusherMutants];
