/**
 * Creates and checks the OAuth `state` of a login and its PKCE verifier, without storing either.
 *
 * A state consists of its expiry, random bytes, and an HMAC with a secret of the fleet; its verifier is
 * derived from it with the same secret. So creating a login address writes nothing, and every node accepts
 * the states of all nodes. SQL makes sure that a state is used only once.
 */
import { createHmac, hash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { LoginProvider } from '../outbound/login-provider.ts';

/** How long a user may take to log in at the provider, ms. */
export const loginStateMs = 600_000;

/** The parts that logging in needs besides the catalogue; without them there is no login. */
export interface Login {
  readonly provider: LoginProvider;
  readonly states: LoginStates;
  /** Addresses to which the provider may redirect users; never empty. */
  readonly redirectUris: readonly string[];
  readonly sessionSeconds: number;
}

const statePattern = /^([0-9a-z]{1,11})\.([A-Za-z0-9_-]{22})\.([A-Za-z0-9_-]{43})$/;

/** All nodes must use the same secret of 32 bytes or more. Throws `RangeError` for a shorter one. */
export const createLoginStates = (secret: Uint8Array) => {
  if (secret.length < 32) throw new RangeError('the secret of login states must have 32 bytes or more');
  const derive = (purpose: string, text: string): Buffer =>
    createHmac('sha256', secret).update(`${purpose} ${text}`).digest();
  const deriveVerifier = (body: string): string => derive('verifier', body).toString('base64url');
  return {
    create: (nowMs: number) => {
      const expiry = Math.floor(nowMs + loginStateMs).toString(36);
      const body = `${expiry}.${randomBytes(16).toString('base64url')}`;
      const state = `${body}.${derive('state', body).toString('base64url')}`;
      return { state, challenge: hash('sha256', deriveVerifier(body), 'base64url') };
    },
    /** Returns the verifier of a genuine state that has not expired, else `null`. */
    findVerifier: (state: string, nowMs: number) => {
      const match = statePattern.exec(state);
      if (match === null) return null;
      const body = `${match[1]}.${match[2]}`;
      const signature = Buffer.from(match[3] as string, 'base64url');
      // Also compared as text: decoding ignores some bits of the last base64url character.
      const isGenuine =
        timingSafeEqual(signature, derive('state', body)) && signature.toString('base64url') === match[3];
      return isGenuine && Number.parseInt(match[1] as string, 36) > nowMs ? deriveVerifier(body) : null;
    },
  };
};
export type LoginStates = ReturnType<typeof createLoginStates>;
