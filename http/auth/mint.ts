/**
 * A new token, for whoever may hand one out: sessions, the login, operators.
 *
 * The token exists only in the reply that hands it out; what is stored is its SHA-256. Whether it may be
 * minted is judged by the callers.
 */
import { hash, randomBytes } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';
import { formatToken, type TokenKind } from '../../engine/rules/token.ts';

export interface MintedToken {
  /** The session's id. */
  readonly id: string;
  readonly token: string;
  readonly tokenHash: Buffer;
}

const secretBytes = 32;

export const mintToken = (target: { readonly kind: TokenKind; readonly id: string }): MintedToken => {
  const token = formatToken(target, randomBytes(secretBytes));
  return { id: uuidv7(), token, tokenHash: hash('sha256', token, 'buffer') };
};
