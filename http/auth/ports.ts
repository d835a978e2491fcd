/**
 * What authentication and authorisation need from the catalogue: types only. The catalogue implements both;
 * nothing here knows SQL. Rejections mean that the truth cannot be reached: the client then gets a 503,
 * never a 401.
 */
import type { EntityKind } from '../../engine/ids.ts';
import type { TokenKind } from '../../engine/rules/token.ts';
import type { EntityAccess } from '../../storage/catalogue/shared/permissions.ts';

/** A living session, as SQL has it. */
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
  /** The session of a token with this SHA-256, `null` when there is none. Expired ones may be returned. */
  byTokenHash(hash: Buffer): Promise<StoredSession | null>;
}

export interface PermissionSource {
  /** `null` when the entity does not exist. With an empty `userId` the permissions are empty. */
  findAccess(kind: EntityKind, id: string, userId: string): Promise<EntityAccess | null>;
}
