/**
 * The proof of a human before a vote (VOTE_PROOF): who has given one, and what a verifier says of a new one.
 *
 * Bounded: accounts that have given one, and how often an account may try. Each node remembers for itself.
 */
import type { VoteRequest } from '../../../engine/engine.ts';
import { DomainError } from '../../../engine/errors.ts';
import type { Clock } from '../../../engine/ports.ts';
import { createTwoGenerationCache } from '../../../engine/tools/two-generation-cache.ts';
import { createLimit } from '../../limits/limiter.ts';
import type { ProofProvider, ProofVerifier } from '../../outbound/vote-proof.ts';
import { createUnavailableError, createValidationError } from '../../response/errors.ts';

/** What a voter sends. */
export interface SentProof {
  /** The `X-Vote-Proof` header, `''` for none. */
  readonly token: string;
  readonly address: string;
}

export interface VoteProofOptions {
  readonly verifier: ProofVerifier;
  readonly provider: ProofProvider;
  readonly siteKey: string;
  /** What happens to a vote when the verifier is away. */
  readonly whenAway: 'allow' | 'refuse';
  readonly clock: Pick<Clock, 'monotonicMs'>;
  /** Whether a vote needs a proof; absent: each does. */
  readonly isSuspect?: ((vote: VoteRequest) => boolean) | undefined;
}

const provenMs = 24 * 3_600_000;
/** Accounts that are never forgotten early; at most twice as many are remembered. */
const accountsMax = 50_000;
/** Proofs of an account that are passed on to the verifier. */
const attempts = { requests: 10, seconds: 60, burst: 10 };
const ascii = /^[\0-\x7f]*$/;
const tokenShape = /^[!-~]{1,4096}$/;
const overloadMessage = 'Too many proofs of a human are being checked. Nothing was counted; try again.';
const awayMessage = 'Proofs of a human cannot be checked at the moment. Nothing was counted; try again.';

/** Throws `validation_failed` for a header with bytes above 0x7F. Those at its ends cannot be seen. */
export const checkProof = ({ headers }: { readonly headers: { readonly voteProof: string } }): void => {
  if (!ascii.test(headers.voteProof))
    throw createValidationError('header', { 'X-Vote-Proof': 'must be ASCII characters' });
};

export const createVoteProof = (options: VoteProofOptions) => {
  const { verifier, clock } = options;
  /** Until when an account needs none, monotonic ms. */
  const proven = createTwoGenerationCache<number>(accountsMax);
  const { take } = createLimit('vote_proof', attempts);
  const countAttempt = (user: string): void => {
    try {
      take(user, clock.monotonicMs());
    } catch (error) {
      const { message, retryAfterSeconds } = error as DomainError;
      // Without the headers of a limit: the operation has none where no proof is required.
      throw new DomainError('rate_limited', message, {}, retryAfterSeconds);
    }
  };
  return {
    /** Whether a vote needs none: its account has given one within a day, or it is not under suspicion. */
    spares: (vote: VoteRequest) =>
      !(options.isSuspect?.(vote) ?? true) ||
      (proven.get(vote.user) ?? Number.NEGATIVE_INFINITY) > clock.monotonicMs(),
    /**
     * Resolves when the proof counts, or the verifier is away and that is allowed. Rejects with
     * `proof_required`, `proof_unavailable`, `overloaded` or `rate_limited`.
     */
    prove: async (user: string, { token, address }: SentProof) => {
      if (token === '') throw createProofError(options, 'A proof of a human is needed');
      if (!tokenShape.test(token)) throw createProofError(options, 'The proof was not accepted');
      countAttempt(user);
      const result = await verifier.verify({ user, token, address });
      if (result === 'failed') throw createProofError(options, 'The proof was not accepted');
      if (result === 'overloaded') throw createUnavailableError('overloaded', overloadMessage, 2);
      if (result === 'passed') proven.set(user, clock.monotonicMs() + provenMs);
      else if (options.whenAway === 'refuse')
        throw createUnavailableError('proof_unavailable', awayMessage, 10);
    },
  };
};
export type VoteProof = ReturnType<typeof createVoteProof>;

const createProofError = ({ provider, siteKey }: VoteProofOptions, what: string): DomainError =>
  new DomainError('proof_required', `${what}: solve the widget of context.provider, and send X-Vote-Proof.`, {
    provider,
    site_key: siteKey,
  });
