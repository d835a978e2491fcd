/**
 * The model's list of a shard's newest changes: what each batch changed, and the chain hash after it.
 */
import type { Slot } from '../../engine/entity/apply.ts';
import type { Batch, ShardVersion } from '../../engine/entity/items.ts';
import type { EntityAddress } from '../../engine/ids.ts';
import type { ShardChanges } from '../../engine/ports.ts';

/** A batch that changed something. */
export interface ModelChange {
  readonly chainHash: number;
  readonly addresses: readonly EntityAddress[];
}

interface ChangingShard extends ShardVersion {
  readonly slots: ReadonlyMap<EntityAddress, Slot>;
  changes: readonly ModelChange[];
}

/** Few, so that tests meet the end of the list. */
const changesKept = 8;

/** Records a batch; `before` has the slots from before it. */
export const recordChanges = (
  shard: ChangingShard,
  before: ReadonlyMap<EntityAddress, Slot>,
  batch: Batch,
): void => {
  const { chainHash, slots, changes } = shard;
  const named = new Set(batch.items.map(({ target }) => target.address));
  const addresses = [...named].filter((address) => slots.get(address) !== before.get(address));
  shard.changes = [...changes, { chainHash, addresses }].slice(-changesKept);
};

/** What changed since a known version, or `null` if the list does not contain that version. */
export const listChanges = (shard: ChangingShard, from: ShardVersion): ShardChanges => {
  const { generation, version, chainHash, changes } = shard;
  const now = { generation, version, chainHash };
  const behind = version - from.version;
  if (generation !== from.generation || behind < 0 || behind >= changes.length) return { now, changed: null };
  const [base, ...since] = changes.slice(-behind - 1);
  if (base?.chainHash !== from.chainHash) return { now, changed: null };
  const changed = since.flatMap(({ addresses }, index) =>
    addresses.map((address) => [address, from.version + 1 + index] as const),
  );
  return { now, changed: new Map(changed) };
};
