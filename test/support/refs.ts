/**
 * References of entities by kind and id, in a store with as many shards as a new directory has, or another
 * number.
 */
import {
  computeShard,
  createEntityRef,
  type EntityKind,
  type EntityRef,
  newShardCount,
  type Shard,
  toAddress,
  toIncarnation,
} from '../../engine/ids.ts';

/** The shard of an entity. */
export const shardOf = (kind: EntityKind, id: string, count = newShardCount): Shard =>
  computeShard(toAddress(kind, id), count);

/** The reference of one listing in a store with `count` shards. */
export const refIn = (count: number, target: Pick<EntityRef, 'kind' | 'id'>, incarnation = 1): EntityRef => {
  const { kind, id } = target;
  return createEntityRef({
    kind,
    id,
    incarnation: toIncarnation(incarnation),
    shard: shardOf(kind, id, count),
  });
};

/** The reference of one listing. */
export const refOf = (kind: EntityKind, id: string, incarnation = 1): EntityRef =>
  refIn(newShardCount, { kind, id }, incarnation);
