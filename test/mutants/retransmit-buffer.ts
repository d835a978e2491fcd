/**
 * Guards of the ring, each with its patch: what is kept, when it is sent again, and that it counts once.
 *
 * Every one must be killed by a test that is quick. What a mutant is: mutant.ts. Called by engine.ts.
 */
import type { Mutant } from './mutant.ts';

const apply = 'engine/entity/apply.ts';
const gate = 'engine/commit/output-gate.ts';
const ring = 'engine/commit/retransmit-buffer.ts';
const applyTest = 'test/engine/entity/apply.test.ts';
const ringTest = 'test/engine/commit/retransmit-buffer.test.ts';

export const ringMutants: readonly Mutant[] = [
  {
    name: 'a lost item that came back with its row counts again',
    file: apply,
    find: `&& isInRow(slot, item);`,
    replace: `&& slot === null;`,
    killers: [applyTest],
    why: 'an entity initialised from SQL after a loss has what was flushed before it (I2)',
  },
  {
    name: 'a lost vote that came back with its row is added again',
    file: apply,
    find: `isInRow(slot, item) ? 0 : count`,
    replace: `count`,
    killers: [applyTest],
    why: 'the total would be more than the rows (I5)',
  },
  {
    name: 'a lost post overtakes a newer one',
    file: apply,
    find: `return item.atMs < slot.state.lastStatsPostMs;`,
    replace: `return false;`,
    killers: [applyTest],
    why: 'what was acknowledged last at another node would be overwritten (I1)',
  },
  {
    name: 'refused work is kept',
    file: ring,
    find: `return kind === 'applied' || kind === 'voted';`,
    replace: `return kind !== undefined;`,
    killers: [ringTest],
    why: 'a vote that was answered with a refusal would be cast (I2)',
  },
  {
    name: 'a line with nothing to send does not ask',
    file: ring,
    find: `buffer.queryLastSequence(shard, (entries.at(-1) as BufferEntry).producer);`,
    replace: `buffer.queryLastSequence(shard, (entries.at(-1) as BufferEntry).producer.slice(0, 0));`,
    killers: [ringTest],
    why: 'the loss would be noticed only by the next request, perhaps after the work is forgotten (I1)',
  },
  {
    name: 'an answer that shows a loss is taken for a good one',
    file: gate,
    find: `if (answered && !gate.retransmitBuffer?.hasLost(batch, reply)) {`,
    replace: `if (answered) {`,
    killers: [ringTest],
    why: 'what is lost would be forgotten as if it were safe (I1)',
  },
  {
    name: 'lost work is dropped when it cannot be sent at once',
    file: ring,
    find: `  buffer.clock.after(limits.retransmitPollMs, () => sendAgain(buffer, item));\n`,
    replace: `  addBytes(buffer, -estimateBytes(item));\n`,
    killers: [ringTest],
    why: 'a store that comes back slowly would cost what was acknowledged (I1)',
  },
  {
    name: 'work of an entity that was lost, too, is dropped',
    file: ring,
    find: `  if (decision.kind === 'absent') reactivate(buffer, item);\n  else {`,
    replace: `  {`,
    killers: [ringTest],
    why: 'what was acknowledged since an entity came to life would be lost with it (I1)',
  },
  {
    name: 'a full ring',
    file: gate,
    find: ` || gate.retransmitBuffer?.isFull()`,
    replace: ``,
    killers: [ringTest],
    why: 'a fast node would fill the memory (I15)',
  },
  {
    name: 'the ring keeps where nothing can be lost',
    file: ring,
    find: `  if (!parts.hot.mayLoseTail) return null;\n`,
    replace: '',
    killers: [ringTest],
    why: 'the embedded store would pay for what it does not need',
  },
];
