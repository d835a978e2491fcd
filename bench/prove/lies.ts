/**
 * What `prove` judges, and how a lie is named.
 */
export const proofKinds = [
  'posts',
  'shards',
  'clicks',
  'votes',
  'vote log',
  'feed',
  'webhooks',
  'history',
  'redeems',
  'replies',
] as const;
export type ProofKind = (typeof proofKinds)[number];

export interface Lie {
  readonly kind: ProofKind;
  /** Such as `lost`, `doubled` or `late`. */
  readonly name: string;
  readonly text: string;
}
