/**
 * Identifiers: entity kinds, branded types, addresses and shards.
 *
 * Defines the fixed mapping from an entity to its address (its key in the hot store) and its logical shard.
 * The mapping never changes, because stores outlive programs. Branded identifiers are created only here, so
 * a raw string from a request cannot be mistaken for one.
 */

export const entityKinds = ['bot', 'server', 'team', 'pack'] as const;
export type EntityKind = (typeof entityKinds)[number];

/** The listing id, from an SQL sequence: an entity that is deleted and listed again gets a new one. */
export type Incarnation = number & { readonly __brand: 'incarnation' };
/** A logical shard, from 0 to `shardsTotal` - 1. */
export type Shard = number & { readonly __brand: 'shard' };
/** `<letter>:<encoded id>`: the address of an entity, the same for all its incarnations. */
export type EntityAddress = string & { readonly __brand: 'address' };

/** The number of shards. Never changes: it decides under which keys a store has an entity. */
export const shardsTotal = 16;

/** One listing of one entity, as the hot store and the ledger know it. */
export interface EntityRef {
  readonly kind: EntityKind;
  readonly id: string;
  readonly incarnation: Incarnation;
  readonly shard: Shard;
  readonly address: EntityAddress;
}

/** Names an entity, whether it is listed or not. */
export type Target = Pick<EntityRef, 'kind' | 'id'>;

const kindLetters: Record<EntityKind, string> = { bot: 'b', server: 's', team: 't', pack: 'p' };

export const isEntityKind = (text: string): text is EntityKind =>
  (entityKinds as readonly string[]).includes(text);

/**
 * Returns the id under which an entity is kept: the url of a pack is in lower case, other ids are as given.
 */
export const foldTargetId = (kind: string, id: string): string => (kind === 'pack' ? id.toLowerCase() : id);

export const toIncarnation = (value: number): Incarnation => value as Incarnation;
export const toShard = (value: number): Shard => value as Shard;

/** Lists all shards, in their order from shard `start` on. */
export const listAllShards = (start = 0): readonly Shard[] =>
  Array.from({ length: shardsTotal }, (_, index) => toShard((start + index) % shardsTotal));

/** Matches ids that need no encoding, as nearly all do. The test takes a tenth of an encoding. */
const plainId = /^[A-Za-z0-9_-]*$/;

/** Builds the address. Encodes the id so that it has no brace, colon or NUL: those have a meaning in keys. */
export const toAddress = (kind: EntityKind, id: string): EntityAddress =>
  `${kindLetters[kind]}:${plainId.test(id) ? id : encodeURIComponent(id)}` as EntityAddress;

/** Hashes with FNV-1a and a mix. Must never change: shards follow from it. */
export const computeTextHash = (text: string): number => {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
  return hash ^ (hash >>> 12);
};

/**
 * Computes the shard by a hash of the address. Must never change (see the header). Of two counts the smaller
 * one's shard is the last bits of the larger one's.
 */
export const computeShard = (address: EntityAddress): Shard =>
  (computeTextHash(address) & (shardsTotal - 1)) as Shard;

/** Builds the reference of one listing. */
export const createEntityRef = (listing: Omit<EntityRef, 'address'>): EntityRef => {
  const { kind, id, incarnation, shard } = listing;
  return { kind, id, incarnation, shard, address: toAddress(kind, id) };
};

/** Builds the reference of a listing from where it is stored: the inverse of `toAddress`. */
export const parseEntityRef = (address: EntityAddress, incarnation: Incarnation, shard: Shard): EntityRef => {
  const kind = entityKinds.find((candidate) => kindLetters[candidate] === address[0]);
  if (kind === undefined) throw new Error(`no entity kind has the address ${address}`);
  return { kind, id: decodeURIComponent(address.slice(2)), incarnation, shard, address };
};
