/**
 * What nodes tell each other, and how it looks on the wire.
 *
 * A message is a hint that something cached is old; it never carries the new value, so that a lost or
 * doubled one does no harm beyond a later or an extra look-up. Unknown kinds are ignored: nodes of two
 * versions run together.
 */
import type { EntityKind } from '../../engine/ids.ts';

export type NodeMessage =
  /** A session ended. `hash` is the SHA-256 of its token in hexadecimal. */
  | { readonly kind: 'session'; readonly hash: string; readonly id: string }
  /** What is known about whoever these sessions act for changed: a ban, a deletion, a lost membership. */
  | { readonly kind: 'sessions'; readonly hashes: readonly string[] }
  /** A profile was edited or deleted. */
  | { readonly kind: 'profile'; readonly entity: EntityKind | 'team'; readonly id: string }
  /** Lists of this kind changed. */
  | { readonly kind: 'list'; readonly entity: EntityKind }
  /** Facts that votes and uptime depend on changed: the engine should ask again. */
  | { readonly kind: 'facts'; readonly entity: EntityKind; readonly id: string };

/** A node's own message to itself: proves that what it published before has arrived. */
export interface HeartbeatMessage {
  readonly kind: 'beat';
  readonly node: string;
  /** Monotonic time of that node, ms. */
  readonly sentMs: number;
}

const kinds: ReadonlySet<unknown> = new Set(['session', 'sessions', 'profile', 'list', 'facts', 'beat']);

export const encodeMessage = (message: NodeMessage | HeartbeatMessage): string => JSON.stringify(message);

/** `null` for what this version does not understand. */
export const decodeMessage = (text: string): NodeMessage | HeartbeatMessage | null => {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null || !('kind' in value)) return null;
    return kinds.has(value.kind) ? (value as NodeMessage | HeartbeatMessage) : null;
  } catch {
    // Somebody else uses our channel.
    return null;
  }
};
