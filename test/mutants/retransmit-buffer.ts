/**
 * Guards of the retransmit buffer, each with its patch: what it stores, when it resends, counting once.
 *
 * Every one must be killed by a test that is quick. What a mutant is: mutant.ts.
 */
import type { Mutant } from './mutant.ts';

const apply = 'engine/entity/apply.ts';
const gate = 'engine/commit/output-gate.ts';
const queue = 'engine/commit/shard-queue.ts';
const ring = 'engine/commit/retransmit-buffer.ts';
const ringTest = 'test/engine/commit/retransmit-buffer.test.ts';

export const ringMutants: readonly Mutant[] = [
  {
    name: 'a lost item that the SQL row includes counts again',
    file: apply,
    find: `&& isInRow(slot, item);`,
    replace: `&& slot === null;`,
    why: 'an entity initialised from SQL after a loss includes everything flushed before (I2)',
  },
  {
    name: 'a lost vote that the SQL row includes is added again',
    file: apply,
    find: `isIncluded ? total : total + count`,
    replace: `total + count`,
    why: 'the total would be more than the rows (I5)',
  },
  {
    name: 'an item that was lost twice is judged by where it counted first',
    file: apply,
    find: `lostAt.recounted?.findLast(isKnownToRow) ?? lostAt`,
    replace: `lostAt`,
    why: 'a row from between the losses would seem to include it (I1)',
  },
  {
    name: 'the buffer does not remember where a resent item counted',
    file: queue,
    find: `if (lostAt === undefined || 'contained' in decision) return item;`,
    replace: `if (lostAt === undefined || !('contained' in decision)) return item;`,
    killers: [ringTest],
    why: 'the same',
  },
  {
    name: 'a lost vote is refused because voting has ended',
    file: 'engine/entity/votes.ts',
    find: `context.lost === true ? null : findRefusal(context)`,
    replace: `findRefusal(context)`,
    why: 'a vote acknowledged before a ban would be lost (I1)',
  },
  {
    name: 'a lost post overtakes a newer one',
    file: apply,
    find: `return item.atMs < slot.state.lastStatsPostMs;`,
    replace: `return false;`,
    why: 'the last post acknowledged by another node would be overwritten (I1)',
  },
  {
    name: 'refused items are stored',
    file: ring,
    find: `return decision !== undefined && isCounted(decision) ?`,
    replace: `return decision !== undefined ?`,
    why: 'a vote that was answered with a refusal would be cast (I2)',
  },
  {
    name: 'a resent item counts although the store has an earlier copy',
    file: apply,
    find: `  if (item.lostAt.copies?.some(hasBatch)) return true;\n`,
    replace: ``,
    why: 'a click would count twice after a second loss (I3)',
  },
  {
    name: 'the first batch of a numbering has items',
    file: queue,
    find: `shardQueue.opensEmpty && sequence === 0`,
    replace: `shardQueue.opensEmpty && sequence < 0`,
    killers: ['test/engine/commit/output-gate-losses.test.ts'],
    why: 'a store that was emptied would take it again as new (I2)',
  },
  {
    name: 'a refused first batch is sent until it is taken',
    file: gate,
    find: `isOpening(sealed) ? takeWaiting(sealed.shardQueue) : sealed`,
    replace: `sealed`,
    killers: ['test/engine/commit/output-gate-losses.test.ts'],
    why: 'a store that refuses would get calls without a pause (I15)',
  },
  {
    name: 'lost work is searched for once',
    file: queue,
    find: `broken || (restarted && sequence > 0)`,
    replace: `broken`,
    killers: [ringTest],
    why: 'what the store loses during a recovery would stay lost (I1)',
  },
  {
    name: 'old items are dropped before lost ones are searched for again',
    file: gate,
    find: `if (!shardQueue.restarted) gate.retransmitBuffer`,
    replace: `gate.retransmitBuffer`,
    killers: [ringTest],
    why: 'what the store loses during a long recovery would stay lost (I1)',
  },
  {
    name: 'an idle shard queue does not query the store',
    file: ring,
    find: `buffer.queryLastSequence(shard, (entries.at(-1) as BufferEntry).producer);`,
    replace: `buffer.queryLastSequence(shard, (entries.at(-1) as BufferEntry).producer.slice(0, 0));`,
    why: 'the next request would detect the loss, perhaps after the items were dropped (I1)',
  },
  {
    name: 'a reply that shows a loss is treated as a good one',
    file: gate,
    find: `if (answered && !gate.retransmitBuffer?.hasLost(batch, reply)) {`,
    replace: `if (answered) {`,
    killers: [ringTest],
    why: 'lost items would be dropped as if they were durable (I1)',
  },
  {
    name: 'lost items are dropped when they cannot be sent at once',
    file: ring,
    find: `  buffer.clock.after(limits.retransmitPollMs, () => sendAgain(buffer, item));\n`,
    replace: `  addBytes(buffer, -estimateBytes(item));\n`,
    why: 'a store that recovers slowly would lose acknowledged changes (I1)',
  },
  {
    name: 'items of an entity that was lost, too, are dropped',
    file: ring,
    find: `  if (decision.kind === 'absent') reactivate(buffer, item);\n  else {`,
    replace: `  {`,
    why: 'changes acknowledged since an activation would be lost with the entity (I1)',
  },
  {
    name: 'the limit of the retransmit buffer',
    file: gate,
    find: ` || gate.retransmitBuffer?.isFull()`,
    replace: ``,
    killers: [ringTest],
    why: 'a fast node would fill the memory (I15)',
  },
  {
    name: 'the shorter time also after a risk was seen',
    file: ring,
    find: `buffer.hot.pulse?.mayLoseTail() === false`,
    replace: `buffer.hot.pulse !== undefined`,
    why: 'a replica that was attached later and lags would lose what no node can resend (I1)',
  },
  {
    name: 'the retransmit buffer stores items for a store that loses nothing',
    file: ring,
    find: `  if (!parts.hot.mayLoseTail) return null;\n`,
    replace: '',
    why: 'the embedded store would pay for an unneeded buffer',
  },
];
