/**
 * A case that says what a client for this directory must do, in any language.
 */
export type VectorAnswer = Readonly<Record<string, unknown>>;

export interface Vector {
  readonly id: string;
  readonly kind: 'webhook' | 'failure' | 'log';
  /** What is broken if the answer is another. */
  readonly promise: string;
  readonly input: VectorAnswer;
  readonly answer: VectorAnswer;
  /** What clients do by mistake: a judge must refuse these. */
  readonly wrong: readonly VectorAnswer[];
}
