/**
 * The messages between nodes, and their encoding.
 *
 * A message says that something cached is stale; it never carries the new value. So a lost or repeated
 * message causes only a late or an extra look-up. Unknown kinds are ignored, because nodes of two versions
 * run together.
 */
import type { EntityKind } from '../../engine/ids.ts';

export type NodeMessage =
  /** A session ended. `hash` is the SHA-256 of its token in hexadecimal. */
  | { readonly kind: 'session'; readonly hash: string; readonly id: string }
  /** The owners of these sessions changed: a ban, a deletion, a lost membership. */
  | { readonly kind: 'sessions'; readonly hashes: readonly string[] }
  /** A profile was edited or deleted. */
  | { readonly kind: 'profile'; readonly entity: EntityKind | 'team'; readonly id: string }
  /** Webhook endpoints were created, changed or deleted. */
  | { readonly kind: 'webhooks' };

/** A node's message to itself: its arrival proves that earlier messages have arrived. */
export interface HeartbeatMessage {
  readonly kind: 'beat';
  readonly node: string;
  /** Monotonic time of that node, ms. */
  readonly sentMs: number;
}

const kinds: ReadonlySet<unknown> = new Set(['session', 'sessions', 'profile', 'webhooks', 'beat']);

export const encodeMessage = (message: NodeMessage | HeartbeatMessage): string => JSON.stringify(message);

/** Decodes a message; `null` if this version does not know its kind. */
export const decodeMessage = (text: string): NodeMessage | HeartbeatMessage | null => {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null || !('kind' in value)) return null;
    return kinds.has(value.kind) ? (value as NodeMessage | HeartbeatMessage) : null;
  } catch {
    // Another program uses our channel.
    return null;
  }
};
