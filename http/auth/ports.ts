/**
 * What authentication and authorisation need from the catalogue, which implements both sources. Types only.
 * A source rejects when SQL is unreachable: the client then gets a 503, never a 401.
 */
import type { EntityKind } from '../../engine/ids.ts';
import type { SessionOfToken } from '../../storage/catalogue/people/sessions.ts';
import type { EntityAccess } from '../../storage/catalogue/shared/permissions.ts';

export interface SessionSource {
  /** Finds the session of the token with this SHA-256, `null` for none. It may have expired. */
  byTokenHash(hash: Buffer): Promise<SessionOfToken | null>;
}

export interface PermissionSource {
  /** `null` when the entity does not exist. With an empty `userId` the permissions are empty. */
  findAccess(kind: EntityKind, id: string, userId: string): Promise<EntityAccess | null>;
}
