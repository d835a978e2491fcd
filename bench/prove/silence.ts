/**
 * How long a store took no changes, by the client's log. Pure.
 */
import { computeShard, type EntityKind, type Shard, toAddress } from '../../engine/ids.ts';
import type { ClientLog, Span } from './client-log.ts';

/** The longest time between two acknowledged changes that touches the span, in milliseconds. */
export const findSilenceMs = (log: Pick<ClientLog, 'stats' | 'votes'>, { fromMs, toMs }: Span): number => {
  const acked = [...log.stats, ...log.votes].filter(({ outcome }) => outcome === 'ok');
  const inside = acked.map(({ returnMs }) => returnMs).filter((atMs) => atMs > fromMs && atMs < toMs);
  const marks = [fromMs, ...inside.sort((left, right) => left - right), toMs];
  return Math.max(...marks.slice(1).map((atMs, index) => atMs - (marks[index] as number)));
};

/** The changes of these shards alone, at one node or all. */
export const pickShards = (log: ClientLog, shards: ReadonlySet<Shard>, life?: number): ClientLog => {
  const isOne = (op: { readonly life: number }, kind: EntityKind, id: string): boolean =>
    (life === undefined || op.life === life) && shards.has(computeShard(toAddress(kind, id)));
  return {
    ...log,
    // A post of one shard of a bot has the id of both.
    stats: log.stats.filter((op) => isOne(op, 'bot', op.bot.split('#', 1)[0] as string)),
    votes: log.votes.filter((op) => isOne(op, ...(op.target.split('/') as [EntityKind, string]))),
  };
};
