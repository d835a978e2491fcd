/**
 * Decides who may create a session with which limits (docs/behaviour/tokens.md). Pure.
 *
 * A session's limits are permission ids; an empty list means unlimited. Callers can pass on only permissions
 * that they have on the entity and that the limits of their own session include, so limits can only shrink.
 */
import { isPermission, isUsable, type Permission } from './permissions.ts';

export interface Minting {
  /** The requested limits; empty requests an unlimited session. */
  readonly requested: readonly Permission[];
  /** Permission ids of the caller on the entity; `owner` for its owner and for its own token. */
  readonly granted: readonly string[];
  /** Limits of the caller's session. */
  readonly limits: readonly string[];
}
export type MintingVerdict =
  | { readonly kind: 'granted' }
  | { readonly kind: 'unlimited_refused' }
  | { readonly kind: 'not_granted'; readonly permission: Permission };

/**
 * Parses permission ids, each once; `null` if one is unknown. Never drops an id, because a list that became
 * empty would mean "unlimited".
 */
export const parsePermissions = (ids: readonly string[]): readonly Permission[] | null =>
  ids.every(isPermission) ? [...new Set(ids)] : null;

export const decideMinting = ({ requested, granted, limits }: Minting): MintingVerdict => {
  if (requested.length === 0) {
    const unlimited = limits.length === 0 && granted.includes('owner');
    return unlimited ? { kind: 'granted' } : { kind: 'unlimited_refused' };
  }
  const missing = requested.find((id) => !isUsable(granted, limits, id));
  return missing === undefined ? { kind: 'granted' } : { kind: 'not_granted', permission: missing };
};
