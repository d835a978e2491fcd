/**
 * Asks a verifier (Turnstile, hCaptcha, reCAPTCHA) whether a proof of a human is genuine. All three take the
 * same form and answer in the same shape.
 *
 * The verifier is not trusted: one time limit, a size cap, and an answer about another host or action is no
 * proof. An answer is kept for its proof and account, because a verifier accepts each proof once. Nobody can
 * make it seem away by what they send: an error that a proof may cause is a refusal of that proof.
 */
import { type Static, Type } from 'typebox';
import { v5 as toUuidV5 } from 'uuid';
import type { Clock } from '../../engine/ports.ts';
import type { OutboundMeters } from '../telemetry/counts.ts';
import { type FetchResult, fetchJson } from './fetch-json.ts';
import { createServiceLookup } from './service-lookup.ts';

/** Where each verifier answers, unless the operator names another address. */
const addresses = {
  turnstile: 'https://challenges.cloudflare.com/turnstile/v0/siteverify',
  hcaptcha: 'https://api.hcaptcha.com/siteverify',
  recaptcha: 'https://www.google.com/recaptcha/api/siteverify',
} as const;
export type ProofProvider = keyof typeof addresses;

export interface ProofVerifierOptions {
  readonly provider: ProofProvider;
  /** `''` for the provider's own. */
  readonly url: string;
  readonly secret: string;
  /** The host that proofs must be from, `''` for any. */
  readonly hostname: string;
  /** What proofs must be for, `''` for anything: not all verifiers say it. */
  readonly action: string;
  readonly clock: Pick<Clock, 'nowMs' | 'monotonicMs'>;
  readonly timeLimitMs?: number;
  readonly meters?: OutboundMeters;
}

/** Time limit of one request, from connecting to the last byte. */
const verifyMs = 2_000;
const answerBytesMax = 16_384;
/** Proofs are valid for two to five minutes. */
const cacheMs = 300_000;
const cacheEntriesMax = 10_000;
const inFlightMax = 256;
/** Version 3 of reCAPTCHA passes every client, with a score. */
const scoreMin = 0.5;

interface PresentedProof {
  readonly user: string;
  readonly token: string;
  readonly address: string;
}

const Answer = Type.Object({
  success: Type.Boolean(),
  hostname: Type.Optional(Type.String()),
  action: Type.Optional(Type.String()),
  score: Type.Optional(Type.Number()),
  'error-codes': Type.Optional(Type.Array(Type.String())),
});

/** Whether an error code is about our settings or the verifier, whatever the proof is. */
const isOwnError = (code: string): boolean =>
  /^(?:missing|invalid)-input-secret$|^internal-error$/.test(code);

const judge = ({ hostname, action }: ProofVerifierOptions, answer: Static<typeof Answer>): boolean =>
  answer.success &&
  (hostname === '' || answer.hostname === hostname) &&
  (action === '' || answer.action === action) &&
  (answer.score ?? 1) >= scoreMin;

const idNamespace = '5b0e5f7c-7a4d-4f0f-9a43-6c1f3b9f2d58';
/** Derives an id from proof and account. Turnstile repeats its answer for a known id, at any node. */
const deriveId = (key: string): string => toUuidV5(key, idNamespace);

/** `key` has all parts of a proof. */
const buildForm = ({ provider, secret }: ProofVerifierOptions, key: string): string => {
  const [address = '', , token = ''] = key.split(' ');
  return new URLSearchParams({
    secret,
    response: token,
    // Only the network of an IPv6 address is known, so it is not sent.
    ...(!address.includes('/') && { remoteip: address }),
    ...(provider === 'turnstile' && { idempotency_key: deriveId(key) }),
  }).toString();
};

/** A verifier may refuse a proof with any status for faults of a client, except that of too many requests. */
const isRefusal = (status: number, answer: unknown): answer is Static<typeof Answer> =>
  Math.floor(status / 100) === 4 &&
  status !== 429 &&
  typeof answer === 'object' &&
  answer !== null &&
  'success' in answer &&
  answer.success === false;

const isOwnFault = ({ success, 'error-codes': codes }: Static<typeof Answer>): boolean =>
  !success && Array.isArray(codes) && codes.some((code) => isOwnError(String(code)));

const query = async (options: ProofVerifierOptions, key: string): Promise<FetchResult<boolean>> => {
  const fetched = await fetchJson(Answer, {
    url: options.url || addresses[options.provider],
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: buildForm(options, key),
    timeLimitMs: options.timeLimitMs ?? verifyMs,
    answerBytesMax,
  });
  const refusal =
    fetched.kind === 'refused' && isRefusal(fetched.status, fetched.answer) ? fetched.answer : null;
  if (refusal === null && fetched.kind !== 'ok') return fetched;
  const value = refusal ?? (fetched as { readonly value: Static<typeof Answer> }).value;
  if (isOwnFault(value)) return { kind: 'malformed', reason: 'the verifier refuses our settings' };
  return { kind: 'ok', value: judge(options, value) };
};

/** Creates the client of the verifier. It owns a cache and a circuit breaker, so create one per process. */
export const createProofVerifier = (options: ProofVerifierOptions) => {
  const look = createServiceLookup<boolean>({
    clock: options.clock,
    query: (key) => query(options, key),
    recordCall: (outcome, milliseconds) => options.meters?.recordCall('proof', outcome, milliseconds),
    timeLimitMs: options.timeLimitMs ?? verifyMs,
    cacheMs,
    cacheEntriesMax,
    inFlightMax,
  });
  return {
    /**
     * `address` is the client's. Resolves within two seconds; `unavailable`: the verifier did not say;
     * `overloaded`: we have too many questions for it. Never rejects.
     */
    verify: async ({ user, token, address }: PresentedProof) => {
      const result = await look(`${address} ${user} ${token}`);
      if (result.kind === 'failed' && result.isBusy) return 'overloaded';
      if (result.kind !== 'found') return 'unavailable';
      return result.value ? 'passed' : 'failed';
    },
  };
};
export type ProofVerifier = ReturnType<typeof createProofVerifier>;
