/**
 * The type of a plan: what one batch of an import adds to the store.
 *
 * resolve.ts queries the store and makes the plan; write.ts writes it.
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

/** A new listing: its record and the values that the store assigns. */
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

/** Everything that a batch adds, in the order in which it is written. */
export interface Plan {
  readonly users: UserRecord[];
  readonly teams: Listing<TeamRecord>[];
  readonly servers: Listing<ServerRecord>[];
  readonly bots: Listing<BotRecord>[];
  readonly packs: Listing<PackRecord>[];
  readonly votes: Placed<VoteRecord>[];
  readonly sessions: SessionRecord[];
  readonly faults: Fault[];
  /** Records whose entity exists already. */
  skipped: number;
}
