/**
 * Names of things: entity kinds, branded identifiers, hot keys and shards.
 *
 * Owns the fixed mapping from an entity to its logical shard and its hot key. The mapping never
 * changes: a store written by one version is read by all later ones. Identifiers are minted here
 * and nowhere else, so a raw string from a request cannot be mistaken for one.
 */

export const entityKinds = ['bot', 'server', 'team', 'pack'] as const;
export type EntityKind = (typeof entityKinds)[number];

/**
 * The number given to one listing of an entity by an SQL sequence; a listing deleted and made again gets a
 * new one.
 */
export type Incarnation = number & { readonly __brand: 'incarnation' };
/** A logical shard, 0 to 127. */
export type Shard = number & { readonly __brand: 'shard' };
/** `<letter>:<encoded id>`: one address of an entity, whatever its incarnation. */
export type EntityAddress = string & { readonly __brand: 'address' };

export const shardCount = 128;

/** One listing of one entity, as the hot store and the ledger know it. */
export interface EntityRef {
  readonly kind: EntityKind;
  readonly id: string;
  readonly incarnation: Incarnation;
  readonly shard: Shard;
  readonly address: EntityAddress;
}

const kindLetters: Record<EntityKind, string> = { bot: 'b', server: 's', team: 't', pack: 'p' };

export const isEntityKind = (word: string): word is EntityKind =>
  (entityKinds as readonly string[]).includes(word);

export const toIncarnation = (value: number): Incarnation => value as Incarnation;
export const toShard = (value: number): Shard => value as Shard;

export const allShards: readonly Shard[] = Array.from({ length: shardCount }, (_, shard) => toShard(shard));

/**
 * Nearly all ids: digits, UUIDs, slugs. They encode to themselves, and a test is ten times cheaper than that.
 */
const plainId = /^[A-Za-z0-9_-]*$/;

/** Encodes an id so that it holds no brace, colon or NUL: those carry meaning in keys. */
export const toAddress = (kind: EntityKind, id: string): EntityAddress =>
  `${kindLetters[kind]}:${plainId.test(id) ? id : encodeURIComponent(id)}` as EntityAddress;

/** FNV-1a over the address with a final mix; stable for ever (see the module header). */
export const computeShard = (address: EntityAddress): Shard => {
  let hash = 0x811c9dc5;
  for (let index = 0; index < address.length; index++) {
    hash = Math.imul(hash ^ address.charCodeAt(index), 0x01000193);
  }
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
  return ((hash ^ (hash >>> 12)) & (shardCount - 1)) as Shard;
};

/** Builds the reference of one listing. */
export const createEntityRef = (kind: EntityKind, id: string, incarnation: number): EntityRef => {
  const address = toAddress(kind, id);
  return { kind, id, incarnation: incarnation as Incarnation, shard: computeShard(address), address };
};

/** The reference of a listing known by its address, as stores keep it: the inverse of `toAddress`. */
export const parseEntityRef = (address: EntityAddress, incarnation: Incarnation): EntityRef => {
  const kind = entityKinds.find((candidate) => kindLetters[candidate] === address[0]);
  if (kind === undefined) throw new Error(`no entity kind has the address ${address}`);
  return {
    kind,
    id: decodeURIComponent(address.slice(2)),
    incarnation,
    shard: computeShard(address),
    address,
  };
};
