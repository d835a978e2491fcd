/**
 * Who may mint a session with which limits (docs/behaviour.md, "Tokens and sessions"). Pure.
 *
 * A session's limits are permission ids; none means unlimited. What a caller can give away is what he holds
 * on the entity, cut down to the limits of the session he calls with: limits can only shrink on the way down.
 */
import { includesPermission, isPermission, type Permission } from './permissions.ts';

export interface Minting {
  /** The limits asked for; empty asks for an unlimited session. */
  readonly requested: readonly Permission[];
  /** Permission ids the caller holds on the entity; `owner` for its owner and for its own token. */
  readonly granted: readonly string[];
  /** Limits of the session he calls with. */
  readonly limits: readonly string[];
}
export type MintingVerdict =
  | { readonly kind: 'granted' }
  | { readonly kind: 'unlimited_refused' }
  | { readonly kind: 'not_held'; readonly permission: Permission };

/**
 * The words as permissions, each once; `null` when one is unknown. Never drops a word: a list that became
 * empty would mean "unlimited".
 */
export const parsePermissions = (words: readonly string[]): readonly Permission[] | null =>
  words.every(isPermission) ? [...new Set(words)] : null;

export const decideMinting = ({ requested, granted, limits }: Minting): MintingVerdict => {
  if (requested.length === 0) {
    const unlimited = limits.length === 0 && granted.includes('owner');
    return unlimited ? { kind: 'granted' } : { kind: 'unlimited_refused' };
  }
  const mine = (word: Permission): boolean =>
    includesPermission(granted, word) && (limits.length === 0 || includesPermission(limits, word));
  const missing = requested.find((word) => !mine(word));
  return missing === undefined ? { kind: 'granted' } : { kind: 'not_held', permission: missing };
};
