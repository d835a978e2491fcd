/**
 * What authentication and authorisation need from the catalogue, which implements both sources. Types only.
 * A source rejects when SQL is unreachable: the client then gets a 503, never a 401.
 */
import type { EntityKind } from '../../engine/ids.ts';
import type { TokenKind } from '../../engine/rules/token.ts';
import type { EntityAccess } from '../../storage/catalogue/shared/permissions.ts';

/** A session as stored in SQL. */
export interface StoredSession {
  readonly sessionId: string;
  readonly kind: TokenKind;
  /** Id of the user, bot, server or team it acts for. */
  readonly id: string;
  readonly sessionType: 'login' | 'api';
  /** Permission ids it is limited to; empty is unlimited. */
  readonly limits: readonly string[];
  readonly expiresAtMs: number;
  /** The user it acts for is banned. */
  readonly banned: boolean;
  /** The user it acts for may not vote. */
  readonly voteBanned: boolean;
}

export interface SessionSource {
  /** Finds the session of the token with this SHA-256, `null` for none. It may have expired. */
  byTokenHash(hash: Buffer): Promise<StoredSession | null>;
}

export interface PermissionSource {
  /** `null` when the entity does not exist. With an empty `userId` the permissions are empty. */
  findAccess(kind: EntityKind, id: string, userId: string): Promise<EntityAccess | null>;
}
