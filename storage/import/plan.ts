/**
 * What one batch of an import adds to the store. Types only.
 *
 * Made by resolve.ts, which looks and decides; written by write.ts, which does neither.
 */
import type { EntityKind } from '../../engine/ids.ts';
import type {
  BotRecord,
  EntityRecord,
  PackRecord,
  ServerRecord,
  SessionRecord,
  TeamRecord,
  UserRecord,
  VoteRecord,
} from './schema.ts';

export interface Fault {
  readonly line: number;
  readonly reason: string;
}

/** A new listing with what the store adds to its record. */
export interface Listing<Kind extends EntityRecord = EntityRecord> {
  readonly line: number;
  readonly record: Kind;
  readonly kind: EntityKind;
  readonly id: string;
  readonly shard: number;
  incarnation: number;
  /** `''` for packs, which have none. */
  vanity: string;
}
export interface Placed<Kind extends VoteRecord> {
  readonly record: Kind;
  readonly incarnation: number;
}

/** Everything a batch adds, ready to be written in this order. */
export interface Plan {
  readonly users: UserRecord[];
  readonly teams: Listing<TeamRecord>[];
  readonly servers: Listing<ServerRecord>[];
  readonly bots: Listing<BotRecord>[];
  readonly packs: Listing<PackRecord>[];
  readonly votes: Placed<VoteRecord>[];
  readonly sessions: SessionRecord[];
  readonly faults: Fault[];
  /** Records whose entity is there already. */
  skipped: number;
}
