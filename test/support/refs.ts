/**
 * References of entities by kind and id, for tests that call the engine or the stores themselves.
 */
import {
  computeShard,
  createEntityRef,
  type EntityKind,
  type EntityRef,
  type Shard,
  toAddress,
  toIncarnation,
} from '../../engine/ids.ts';

/** The shard of an entity. */
export const shardOf = (kind: EntityKind, id: string): Shard => computeShard(toAddress(kind, id));

/** The reference of one listing. */
export const refOf = (kind: EntityKind, id: string, incarnation = 1): EntityRef =>
  createEntityRef({ kind, id, incarnation: toIncarnation(incarnation), shard: shardOf(kind, id) });
