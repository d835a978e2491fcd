/**
 * The clients of a simulation: their requests to the nodes, and the log of the answers.
 *
 * There are few users and few entities, so that requests meet. Every request leaves one log entry with its
 * call, its return and its outcome, which the checks at the end use. Checked here, because each is about one
 * answer: what a node acknowledged is visible on it (I9), reads never go back (I8), fields of one post appear
 * together (I16), an emptied store never answers small numbers (I14).
 */
import type { Engine, EntityView } from '../../engine/engine.ts';
import { DomainError, StorageError } from '../../engine/errors.ts';
import { type EntityAddress, type EntityKind, type Incarnation, toAddress } from '../../engine/ids.ts';
import { count, poisonedUser, type SimNode, violate, type World } from './world.ts';

export type OpKind = 'stats' | 'click' | 'invite' | 'vote' | 'read' | 'standing' | 'flushed';
export interface Op {
  readonly index: number;
  readonly kind: OpKind;
  readonly boot: string;
  readonly address: EntityAddress;
  readonly user: string;
  readonly callMs: number;
  returnMs: number;
  /** `pending` ends as `unknown`: the node died. A click is always `unknown`: no caller waits for it. */
  outcome: 'pending' | 'ok' | 'fail' | 'unknown';
  /** The answer: `voted 2`, `refused wait`, an error code. */
  note: string;
  incarnation: Incarnation | null;
  /** What its node last showed of the entity before the call. */
  known: Seen | undefined;
  /** Something unusual happened: a fault, a refusal, an activation. */
  special: boolean;
}

export interface Target {
  readonly kind: EntityKind;
  readonly id: string;
  /** All its clicks come from different addresses, so that a click counted twice shows. */
  readonly sharp: boolean;
}
export const targets: readonly Target[] = [
  { kind: 'bot', id: 'alpha', sharp: true },
  { kind: 'bot', id: 'beta', sharp: false },
  { kind: 'server', id: 'gamma', sharp: true },
  { kind: 'team', id: 'delta', sharp: false },
];
export const users = ['user-a', 'user-b', 'user-c', poisonedUser];

/** What one engine last showed of one listing. */
interface Seen {
  readonly incarnation: Incarnation;
  clicks: number;
  uniqueClicks: number;
  inviteClicks: number;
  losses: number;
}
export interface Workload {
  readonly world: World;
  readonly log: Op[];
  /** By boot and address. */
  readonly seen: Map<string, Seen>;
  /** The number of pending votes, by boot, user and entity. */
  readonly voting: Map<string, number>;
  running: number;
}

export const createWorkload = (world: World): Workload => ({
  world,
  log: [],
  seen: new Map(),
  voting: new Map(),
  running: 0,
});

const seenAt = (op: Op): string => `${op.boot} ${op.address}`;

/** Checks one view against what this node showed before the request. */
const judgeView = (work: Workload, op: Op, view: EntityView): void => {
  const { world } = work;
  const { state, ref } = view;
  if (state.servers !== state.shards || state.servers !== state.users)
    violate(world, 'I16', `a post is visible in part: ${state.servers}, ${state.shards}, ${state.users}`);
  if (state.uniqueClicks > state.clicks)
    violate(world, 'I7', `more unique clicks than clicks in ${ref.address}`);
  const { clicks, uniqueClicks, inviteClicks } = state;
  const { incarnation } = ref;
  const losses = world.losses.length;
  const known = op.known;
  // After a loss an actor may for a while show what the store no longer has.
  if (losses === 0 && known?.incarnation === incarnation) {
    if (clicks < known.clicks || uniqueClicks < known.uniqueClicks || inviteClicks < known.inviteClicks)
      violate(world, 'I8', `${op.boot} goes back from ${known.clicks} to ${clicks} clicks in ${ref.address}`);
  }
  const last = work.seen.get(seenAt(op));
  if (last?.incarnation === incarnation && last.losses === losses && last.clicks > clicks) return;
  work.seen.set(seenAt(op), { incarnation, clicks, uniqueClicks, inviteClicks, losses });
};

/**
 * I14: what is answered after a loss is at least what SQL had then. Other nodes may lag: they do not poll
 * yet.
 */
const judgeFloor = ({ world }: Workload, op: Op, view: EntityView): void => {
  if (world.plan.nodes > 1 || world.plan.rolledBack > 0) return;
  const { clicks } = view.state;
  for (const loss of world.losses) {
    const least = loss.floor.get(view.ref.incarnation) ?? 0;
    if (op.callMs > loss.atMs + 3_000 && clicks < least)
      violate(world, 'I14', `${op.address} has ${clicks} clicks, SQL had ${least} when the store was lost`);
  }
};

const read = async (work: Workload, op: Op, call: { node: SimNode; target: Target }): Promise<EntityView> => {
  const { node, target } = call;
  const engine = node.engine as Engine;
  const answer = engine.read(target.kind, target.id);
  if (answer instanceof Promise) op.special = true;
  const view = await answer;
  op.incarnation = view.ref.incarnation;
  judgeView(work, op, view);
  judgeFloor(work, op, view);
  return view;
};

const postStats = async (work: Workload, op: Op, call: { node: SimNode; target: Target }): Promise<void> => {
  const { world } = work;
  const { node, target } = call;
  const engine = node.engine as Engine;
  const value = String(op.index);
  const losses = world.losses.length;
  const view = await engine.postStats(target.id, { servers: value, shards: value, users: value });
  op.incarnation = view.ref.incarnation;
  judgeView(work, op, view);
  if (node.engine !== engine) return;
  const after = engine.read(target.kind, target.id);
  const now = after instanceof Promise ? await after.catch(() => null) : after;
  if (now === null || losses !== world.losses.length || now.ref.incarnation !== view.ref.incarnation) return;
  if (now.state.version < view.state.version)
    violate(world, 'I9', `${op.boot} acknowledged ${value} for ${op.address} and does not show it`);
};

const vote = async (work: Workload, op: Op, call: { node: SimNode; target: Target }): Promise<void> => {
  const { world } = work;
  const { node, target } = call;
  const engine = node.engine as Engine;
  const key = `${op.boot} ${op.user} ${op.address}`;
  const waiting = work.voting.get(key) ?? 0;
  if (waiting > 0) count(world, 'vote behind a vote on its way');
  op.special ||= waiting > 0;
  work.voting.set(key, waiting + 1);
  const before = await sumOf(engine, target);
  try {
    const upvote = world.driver.random.chance(0.7);
    const outcome = await engine.vote({ kind: target.kind, id: target.id, user: op.user, upvote });
    op.note = outcome.kind === 'voted' ? `voted ${outcome.count}` : `refused ${outcome.reason}`;
    if (outcome.kind === 'refused') op.special = true;
    else await judgeVote(work, op, { engine, target, least: before + outcome.count });
  } finally {
    work.voting.set(key, (work.voting.get(key) ?? 1) - 1);
  }
};

const sumOf = async (engine: Engine, target: Target): Promise<number> => {
  const view = engine.read(target.kind, target.id);
  if (view instanceof Promise) {
    view.catch(() => {});
    return 0;
  }
  return view.state.upvotes + view.state.downvotes;
};

/** I9 for votes, where nothing takes votes away. */
const judgeVote = async (
  work: Workload,
  op: Op,
  call: { engine: Engine; target: Target; least: number },
): Promise<void> => {
  const { world } = work;
  const { plan } = world;
  if (plan.voids + plan.resets + plan.removals + plan.emptied + plan.rolledBack > 0) return;
  const view = await Promise.resolve(call.engine.read(call.target.kind, call.target.id)).catch(() => null);
  if (view !== null && view.state.upvotes + view.state.downvotes < call.least)
    violate(world, 'I9', `${op.boot} acknowledged a vote on ${op.address} and does not show it`);
};

const perform = async (work: Workload, op: Op, call: { node: SimNode; target: Target }): Promise<void> => {
  const { node, target } = call;
  const engine = node.engine as Engine;
  if (op.kind === 'stats') await postStats(work, op, call);
  else if (op.kind === 'vote') await vote(work, op, call);
  else if (op.kind === 'standing') {
    const voteStatus = await engine.readVoteStatus(target.kind, target.id, op.user);
    judgeView(work, op, voteStatus.view);
  } else if (op.kind === 'flushed') {
    await engine.waitForFlush(target.kind, target.id);
    op.special = true;
  } else {
    const view = await read(work, op, call);
    if (node.engine !== engine) return;
    const address = target.sharp ? `visitor ${op.index}` : `visitor ${op.index % 5}`;
    if (op.kind === 'click') engine.countClick(view, address);
    if (op.kind === 'invite') engine.countInvite(view);
  }
};

const finishOp = (op: Op, error: unknown): void => {
  op.special = true;
  if (error instanceof DomainError) {
    op.note = error.code;
    op.outcome = error.context.outcome === 'unknown' ? 'unknown' : 'fail';
  } else if (error instanceof StorageError) {
    op.note = `${error.operation} ${error.reason}`;
    op.outcome = 'fail';
  } else throw error;
};

/** One request of one client, from call to return. */
const request = async (
  work: Workload,
  node: SimNode,
  what: { kind: OpKind; target: Target; user: string },
) => {
  const { world } = work;
  const { driver } = world;
  const address = toAddress(what.target.kind, what.target.id);
  const op: Op = {
    index: work.log.length + 1,
    kind: what.kind,
    boot: node.boot,
    address,
    user: what.user,
    callMs: driver.nowMs(),
    returnMs: Number.POSITIVE_INFINITY,
    outcome: 'pending',
    note: '',
    incarnation: null,
    known: undefined,
    special: false,
  };
  op.known = work.seen.get(seenAt(op));
  work.log.push(op);
  driver.note(`${op.boot} op ${op.index} ${op.kind} ${address} ${op.user}`);
  const clock = node.clock;
  try {
    await perform(work, op, { node, target: what.target });
    op.outcome = op.kind === 'click' || op.kind === 'invite' ? 'unknown' : 'ok';
  } catch (error) {
    finishOp(op, error);
  }
  if (clock.dead()) op.outcome = 'unknown';
  op.returnMs = driver.nowMs();
  driver.note(`${op.boot} op ${op.index} → ${op.outcome} ${op.note}`);
};

const kinds: readonly OpKind[] = [
  ...Array<OpKind>(5).fill('stats'),
  ...Array<OpKind>(5).fill('click'),
  ...Array<OpKind>(2).fill('invite'),
  ...Array<OpKind>(7).fill('vote'),
  'read',
  'read',
  'standing',
  'flushed',
];

/** Runs one client: sends a request, waits for the answer or a little longer than any deadline, repeats. */
export const runClient = async (work: Workload, home: number): Promise<void> => {
  const { world } = work;
  const { driver, plan } = world;
  const { random } = driver;
  work.running += 1;
  for (let left = plan.opsPerClient; left > 0; left--) {
    await driver.pause(random.chance(0.3) ? 0 : random.integer(1, 200));
    const up = world.nodes.filter((node) => node.ready);
    if (up.length === 0) continue;
    const node = up[random.chance(0.5) ? home % up.length : random.integer(0, up.length - 1)] as SimNode;
    const kind = random.pick(kinds);
    const target = random.pick(kind === 'stats' ? targets.slice(0, 2) : targets);
    const user = random.pick(users);
    const times = random.chance(0.15) ? random.integer(2, 4) : 1;
    const all: Promise<void>[] = [];
    for (let time = 0; time < times; time++) {
      const other = random.chance(0.5) ? node : random.pick(up);
      all.push(request(work, other, { kind, target, user }));
    }
    await Promise.race([Promise.all(all), driver.pause(2_600)]);
  }
  work.running -= 1;
};
