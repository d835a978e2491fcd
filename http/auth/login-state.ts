/**
 * The `state` of a login and the PKCE verifier that belongs to it, without storing either.
 *
 * A state carries its time of expiry, chance, and a mark only the fleet can make; its verifier is derived
 * from it by the same secret. So asking for a login address writes nothing, however often it is done, and any
 * node understands a state of any other. That a state is used once is SQL's to say.
 * Called by replies/login.ts; the secret comes from the composition root.
 */
import { createHmac, hash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { LoginProvider } from '../outbound/login-provider.ts';

/** How long a user may take at the provider, ms. */
export const loginStateMs = 600_000;

/** What logging in needs besides the catalogue; a directory without it has no login. */
export interface Login {
  readonly provider: LoginProvider;
  readonly states: LoginStates;
  /** Where the provider may send users back to; never empty. */
  readonly redirectUris: readonly string[];
  readonly sessionSeconds: number;
}

export interface LoginStates {
  create(nowMs: number): { readonly state: string; readonly challenge: string };
  /** The verifier of a state that we made and that has not expired, else `null`. */
  findVerifier(state: string, nowMs: number): string | null;
}

const statePattern = /^([0-9a-z]{1,11})\.([A-Za-z0-9_-]{22})\.([A-Za-z0-9_-]{43})$/;

/** All nodes must be given the same secret of 32 bytes or more. */
export const createLoginStates = (secret: Uint8Array): LoginStates => {
  if (secret.length < 32) throw new RangeError('the secret of login states has 32 bytes or more');
  const derive = (purpose: string, text: string): Buffer =>
    createHmac('sha256', secret).update(`${purpose} ${text}`).digest();
  const verifierOf = (body: string): string => derive('verifier', body).toString('base64url');
  return {
    create: (nowMs) => {
      const expiry = Math.floor(nowMs + loginStateMs).toString(36);
      const body = `${expiry}.${randomBytes(16).toString('base64url')}`;
      const state = `${body}.${derive('state', body).toString('base64url')}`;
      return { state, challenge: hash('sha256', verifierOf(body), 'base64url') };
    },
    findVerifier: (state, nowMs) => {
      const match = statePattern.exec(state);
      if (match === null) return null;
      const body = `${match[1]}.${match[2]}`;
      const mark = Buffer.from(match[3] as string, 'base64url');
      // Compared as text too: the last character of base64url has bits that decoding drops.
      const genuine = timingSafeEqual(mark, derive('state', body)) && mark.toString('base64url') === match[3];
      return genuine && Number.parseInt(match[1] as string, 36) > nowMs ? verifierOf(body) : null;
    },
  };
};
