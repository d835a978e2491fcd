/**
 * What a route requires of its caller, as data that authorise.ts interprets; the authenticated caller; and
 * what both need from the catalogue. A source rejects when SQL is unreachable: the client then gets a 503,
 * never a 401.
 */

import type { EntityKind } from '../../engine/ids.ts';
import type { Permission } from '../../engine/rules/permissions.ts';
import { type TokenKind, tokenKinds } from '../../engine/rules/token.ts';
import type { SessionOfToken } from '../../storage/catalogue/people/sessions.ts';
import type { EntityAccess } from '../../storage/catalogue/shared/permissions.ts';

/** The authenticated caller. */
export type Caller = Omit<SessionOfToken, 'expiresAtMs' | 'banned'>;

/**
 * What a route requires of the caller, in order of the checks (docs/behaviour.md, "Order of checks"):
 * - `public`: tokens are ignored, even bad ones;
 * - `bot`: any bot token, limited or not;
 * - `self`: an unlimited user session of the user named by the path parameter `user`;
 * - `user`: an unlimited user session;
 * - `kinds`: one of `kinds`; a limited session must have `permission` among its limits;
 * - `owner`: as `kinds`, and the caller must be able to own what the body describes: an unlimited user
 *   session, a team token, or a user who holds `permission` in the team named by the body's field `field`;
 * - `entity`: one of `kinds`, and `permission` on the entity named by the path parameters `type` and `id`
 *   (a user acting on themselves, an entity's own token, the token of the owning team, or a team member who
 *   holds it).
 *   With `unless`, an unlimited session of the user named by that path parameter needs no permission. With
 *   `user`, that path parameter must name the caller. With `into`, a permission in a team is needed too.
 */
export type Auth =
  | { readonly kind: 'public' }
  | { readonly kind: 'bot' }
  | { readonly kind: 'user' }
  | { readonly kind: 'self'; readonly user: string }
  | { readonly kind: 'kinds'; readonly kinds: readonly TokenKind[]; readonly permission: Permission }
  | ({ readonly kind: 'owner'; readonly kinds: readonly TokenKind[] } & TeamInBody)
  | {
      readonly kind: 'entity';
      readonly kinds: readonly TokenKind[];
      readonly permission: Permission;
      /** Path parameter with the kind of entity, or the kind itself as `=bot`. */
      readonly type: string;
      /** Path parameter with the entity's id. */
      readonly id: string;
      /** Path parameter with a user who needs no permission here; the handler decides what they may do. */
      readonly unless?: string;
      /** Path parameter with the caller's own id. */
      readonly user?: string;
      readonly into?: TeamInBody;
    };

/** A team named in the body, and the permission needed in it. */
export interface TeamInBody {
  readonly field: string;
  readonly permission: Permission;
}

/** The auth of paths with `target_type` and `target_id`: any token that has this permission there. */
export const buildTargetAuth = (permission: Permission): Auth => ({
  kind: 'entity',
  kinds: tokenKinds,
  permission,
  type: 'target_type',
  id: 'target_id',
});

export interface SessionSource {
  /** Finds the session of the token with this SHA-256, `null` for none. It may have expired. */
  byTokenHash(hash: Buffer): Promise<SessionOfToken | null>;
}

export interface PermissionSource {
  /** `null` when the entity does not exist. With an empty `userId` the permissions are empty. */
  findAccess(kind: EntityKind, id: string, userId: string): Promise<EntityAccess | null>;
}
