/**
 * Checks what must be true of a world at rest, each check under the name of its invariant.
 *
 * Compares the clients' log, the hot store and the ledger, and changes none of them. If the hot store itself
 * lost data, answers from the lost time count as unknown, and comparisons that such a loss must break are
 * left out. `simulation.ts` checks what nodes show of each other's changes (I9, second half).
 */
import { emptyTotals, type HotState, type Totals } from '../../engine/entity/state.ts';
import { isWeekend } from '../../engine/entity/votes.ts';
import type { EntityRef } from '../../engine/ids.ts';
import type { OutboxVote } from '../../engine/ports.ts';
import { rules } from './plan.ts';
import { postedBot } from './posters.ts';
import { type Op, targets, type Workload } from './workload.ts';
import { poisonedUser, type ResentVote, violate } from './world.ts';

/**
 * The outcome that counts: if a store lost the effect of an answer, the answer counts only while the node
 * that gave it is running, because that node keeps the work and resends it.
 */
const outcomeOf = ({ world }: Workload, op: Op): 'ok' | 'fail' | 'unknown' => {
  if (op.outcome === 'pending') return 'unknown';
  if (op.outcome !== 'ok') return op.outcome;
  if (world.nodes.some((node) => node.boot === op.boot && node.engine !== null)) return 'ok';
  const gone = world.losses.some((loss) => op.callMs <= loss.atMs && op.returnMs >= loss.fromMs);
  return gone ? 'unknown' : 'ok';
};

const hotStateOf = ({ world }: Workload, ref: EntityRef): HotState | null => {
  const slot = world.hot.shards[ref.shard]?.slots.get(ref.address);
  return slot?.incarnation === ref.incarnation ? slot.state : null;
};

/** A store that fell back does not report what it lost: the checks then compare bounds, not exact values. */
const rolledBack = ({ world }: Workload): boolean => world.losses.some((loss) => !loss.emptied);

const lossless = ({ world }: Workload): boolean => world.losses.length === 0;

/** I10: SQL has what the store has, and nothing waits. */
const checkLedgerEqualsStore = (work: Workload, ref: EntityRef, state: HotState): void => {
  const { world } = work;
  const row = world.ledger.totals.get(ref.incarnation);
  if (row === undefined) return;
  // A flush sent before the loss may reach SQL after the listing was initialised from its row.
  const overtaken = row.generation < (world.hot.shards[ref.shard]?.generation ?? 0);
  if (!lossless(work) && overtaken) return;
  for (const name of Object.keys(emptyTotals) as (keyof Totals)[]) {
    if (row.totals[name] !== state[name])
      violate(world, 'I10', `${ref.address} at rest: ${name} is ${state[name]}, in SQL ${row.totals[name]}`);
  }
  const facts = world.ledger.listings.get(ref.address)?.facts;
  if (facts !== undefined && state.facts.revision !== facts.revision)
    violate(world, 'facts', `${ref.address} has revision ${state.facts.revision}, SQL ${facts.revision}`);
};

/** I2, I3, I7: clicks and invites count at most once each; all of them if neither store nor node lost any. */
const checkClicks = (work: Workload, ref: EntityRef, state: HotState): void => {
  const { world, log } = work;
  const made = (kind: Op['kind']): number =>
    log.filter((op) => op.kind === kind && op.incarnation === ref.incarnation && op.outcome !== 'fail')
      .length;
  const name = ref.address;
  if (state.clicks > made('click'))
    violate(world, 'I2', `${name} has ${state.clicks} of ${made('click')} clicks`);
  if (state.inviteClicks > made('invite')) violate(world, 'I2', `${name} has too many invite clicks`);
  const sharp = targets.some((target) => target.sharp && target.id === ref.id);
  if (sharp && state.clicks !== state.uniqueClicks)
    violate(
      world,
      'I3',
      `${name} counts clicks twice: ${state.clicks}, ${state.uniqueClicks} of them unique`,
    );
  if (!sharp && lossless(work) && state.uniqueClicks > 5)
    violate(world, 'I7', `${name} knows too many visitors`);
  const visitors = world.hot.shards[ref.shard]?.visitors.get(`${ref.address} ${ref.incarnation}`)?.size ?? 0;
  if (lossless(work) && visitors !== state.uniqueClicks)
    violate(world, 'I7', `${name} has ${state.uniqueClicks} unique clicks of ${visitors} visitors`);
  const kept = lossless(work) && world.plan.crashes + world.plan.removals === 0;
  if (kept && (state.clicks !== made('click') || state.inviteClicks !== made('invite')))
    violate(world, 'I1', `${name} has ${state.clicks} of ${made('click')} clicks although none can be lost`);
};

/** I1, I2, I16: the posted value is one that was posted, and no acknowledged later post is lost. */
const checkStats = (work: Workload, ref: EntityRef, state: HotState): void => {
  const { world, log } = work;
  // `posters.ts` checks the bot whose shards are posted.
  if (ref.id === postedBot) return;
  const posts = log.filter((op) => op.kind === 'stats' && op.address === ref.address);
  const acknowledged = posts.filter(
    (op) => op.incarnation === ref.incarnation && outcomeOf(work, op) === 'ok',
  );
  const shown = posts.find((op) => String(op.index) === state.servers);
  if (state.servers === '0') {
    if (acknowledged.length > 0) violate(world, 'I1', `${ref.address} lost post ${acknowledged[0]?.index}`);
  } else if (shown === undefined || shown.outcome === 'fail') {
    violate(world, 'I2', `${ref.address} shows ${state.servers}, which was not taken`);
  } else if (shown.outcome === 'ok') {
    const later = acknowledged.find((op) => op.callMs > shown.returnMs);
    // A lost post is resent unless the store has a newer one by the clocks of their nodes.
    if (later && (lossless(work) || world.plan.jumps === 0))
      violate(world, 'I1', `${ref.address} shows post ${shown.index}, ${later.index} was acknowledged later`);
  }
};

/**
 * The first itag of the request: a node takes all ids of a request at once. Time and voter would not tell two
 * requests apart: a clock that jumped back behind a reset accepts a voter again in the same millisecond.
 */
const requestOf = ({ itag, voteNumber }: OutboxVote): string => {
  const numberAt = itag.lastIndexOf('.') + 1;
  return `${itag.slice(0, numberAt)}${Number.parseInt(itag.slice(numberAt), 10) - voteNumber}`;
};
const markOf = (vote: OutboxVote): string => `${vote.user} ${vote.atMs}`;

/** I5: totals, rows and last votes agree. */
const checkVoteTotals = (work: Workload, ref: EntityRef, state: HotState): void => {
  const { world } = work;
  if (!lossless(work)) return;
  const rows = [...world.ledger.votes.values()].filter((vote) => vote.ref.incarnation === ref.incarnation);
  const deadLetters = world.ledger.deadLetters.flatMap(({ vote }) =>
    vote?.ref.incarnation === ref.incarnation ? [vote] : [],
  );
  const lost = [...new Map(deadLetters.map((vote) => [vote.itag, vote])).values()];
  const valid = [...rows.filter((vote) => vote.voidReason === ''), ...lost];
  for (const [total, upvote] of [
    [state.upvotes, true],
    [state.downvotes, false],
  ] as const) {
    const counted = valid.filter((vote) => vote.upvote === upvote).length;
    // A reset cannot void votes that SQL never stored.
    const fits = lost.length > 0 && world.plan.resets > 0 ? total <= counted : total === counted;
    if (!fits)
      violate(
        world,
        'I5',
        `${ref.address} counts ${total} ${upvote ? 'up' : 'down'}votes of ${counted} rows`,
      );
  }
  const listing = `${ref.address} ${ref.incarnation}`;
  const marks = world.hot.shards[ref.shard]?.votes.filter((vote) => vote.listing === listing).length ?? 0;
  const requests = new Set([...rows, ...lost].map(markOf)).size;
  if (marks !== requests)
    violate(world, 'I5', `${ref.address} has ${marks} window marks for ${requests} requests`);
};

/** I12: a removed listing stays removed, whatever comes late. */
const checkListings = (work: Workload): void => {
  const { world } = work;
  for (const ref of world.refs) {
    const state = hotStateOf(work, ref);
    const living = world.ledger.listings.get(ref.address)?.ref.incarnation === ref.incarnation;
    if (!living) {
      if (state !== null && !rolledBack(work))
        violate(world, 'I12', `${ref.address} ${ref.incarnation} was removed and still exists`);
      if (world.ledger.totals.has(ref.incarnation))
        violate(world, 'I12', `${ref.address} has totals and no listing`);
    } else if (state !== null) {
      checkClicks(work, ref, state);
      checkStats(work, ref, state);
      if (rolledBack(work)) continue;
      checkLedgerEqualsStore(work, ref, state);
      checkVoteTotals(work, ref, state);
    } else if (!rolledBack(work)) {
      violate(world, 'I1', `${ref.address} was read and is not in the store`);
    }
  }
};

/** All rows of accepted votes: stored or, for the user whose rows SQL refuses, dead letters. */
const acceptedRows = ({ world }: Workload): readonly OutboxVote[] => {
  const deadLetters = new Map(
    world.ledger.deadLetters.flatMap(({ vote }) => (vote ? [[vote.itag, vote] as const] : [])),
  );
  for (const vote of deadLetters.values())
    if (vote.user !== poisonedUser)
      violate(world, 'I11', `a valid vote of ${vote.user} became a dead letter`);
  return [...world.ledger.votes.values(), ...deadLetters.values()];
};

/** Whether a lost vote may stay without rows: it met another one of its user, or its listing is removed. */
const isExcused = ({ world }: Workload, { decision }: ResentVote): boolean =>
  decision.kind === 'refused'
    ? decision.reason === 'wait'
    : world.plan.removals > 0 && (decision.kind === 'absent' || decision.kind === 'forgotten');

/** I1, I2, I4, I11: every acknowledged vote has its rows, and nothing else does. */
const checkVoteRows = (work: Workload): void => {
  const { world } = work;
  const requests = Map.groupBy(acceptedRows(work), requestOf);
  for (const [name, votes] of requests) {
    const numbers = votes.map((vote) => vote.voteNumber).sort((left, right) => left - right);
    // If the store is lost, only the rows of a request that were flushed before exist.
    if (lossless(work) && numbers.some((number, index) => number !== index))
      violate(world, 'I11', `request ${name} has rows ${numbers.join(',')}`);
  }
  const found = [...requests].flatMap(([name, votes]) =>
    votes.slice(0, 1).map((vote) => voterOf(name, vote)),
  );
  const excused = [...world.resent].filter(([name, vote]) => !requests.has(name) && isExcused(work, vote));
  checkVoters(work, { found, excused: excused.map(([name, vote]) => voterOf(name, vote)) });
};

/** A user's votes on a listing through one start of a node. */
const voterOf = (request: string, { user, ref }: Pick<OutboxVote, 'user' | 'ref'>): string =>
  `${user} of ${request.slice(0, request.lastIndexOf('.'))} on ${ref.address}`;

/** Compares the clients' log with the requests that have rows, and with those that are excused. */
const checkVoters = (
  work: Workload,
  { found, excused }: Readonly<Record<'found' | 'excused', readonly string[]>>,
): void => {
  const { world, log } = work;
  const votes = log.filter(({ kind }) => kind === 'vote');
  const requests = Map.groupBy(votes, ({ boot, user, address }) => `${user} of ${boot} on ${address}`);
  const count = (all: readonly string[], voter: string): number => all.filter((one) => one === voter).length;
  for (const voter of new Set([...found, ...requests.keys()])) {
    const own = requests.get(voter) ?? [];
    const least = own.filter((op) => op.note.startsWith('voted') && outcomeOf(work, op) === 'ok').length;
    const unknown = own.filter(
      (op) => outcomeOf(work, op) === 'unknown' && !op.note.startsWith('refused'),
    ).length;
    const rows = count(found, voter);
    const missing = least - rows - count(excused, voter);
    if (missing > 0) violate(world, 'I1', `${missing} acknowledged votes of ${voter} are lost`);
    if (rows > least + unknown)
      violate(world, 'I2', `${rows} votes of ${voter}, ${least} acknowledged, ${unknown} unknown`);
  }
};

/** I5: no two accepted requests of a user inside the shortest window that can have been in force. */
const checkWindows = (work: Workload): void => {
  const { world } = work;
  if (!lossless(work)) return;
  const { standard, premium, weekend } = rules.windows;
  const byVoter = Map.groupBy(acceptedRows(work), (vote) => `${vote.ref.incarnation} ${vote.user}`);
  for (const [voter, votes] of byVoter) {
    const times = [...new Set(votes.map((vote) => vote.atMs))].sort((left, right) => left - right);
    for (let index = 1; index < times.length; index++) {
      const [earlier, later] = [times[index - 1] as number, times[index] as number];
      // A node's clock may have jumped back behind a vote that no longer held.
      const released =
        votes.some(
          (vote) => [earlier, later].includes(vote.atMs) && 'voidReason' in vote && vote.voidReason !== '',
        ) || world.ledger.resets.some(({ atMs }) => earlier < atMs);
      const plain = isWeekend(later) ? weekend : standard;
      const waitMs = world.plan.edits > 0 ? Math.min(premium.waitMs, plain.waitMs) : plain.waitMs;
      if (!released && later - earlier < waitMs)
        violate(world, 'I5', `${voter} voted twice within ${later - earlier} ms`);
    }
  }
};

/** I15: no request, row or adjustment waits. */
const checkRest = (work: Workload): void => {
  const { world, log } = work;
  const alive = new Set(world.nodes.flatMap((node) => (node.ready ? [node.boot] : [])));
  for (const op of log)
    if (op.outcome === 'pending' && alive.has(op.boot))
      violate(world, 'I15', `op ${op.index} is never answered`);
  for (const shard of world.hot.shards)
    if (shard.dirty.size + shard.outbox.size > 0) violate(world, 'I11', 'the backlog does not empty');
  if (rolledBack(work)) return;
  const open = world.ledger.adjustments.filter((adjustment) => !adjustment.isDelivered);
  if (open.length > 0) violate(world, 'I11', `${open.length} adjustments are never settled`);
};

/** All checks at rest. */
export const checkWorld = (work: Workload): void => {
  checkRest(work);
  checkListings(work);
  checkVoteRows(work);
  checkWindows(work);
};
