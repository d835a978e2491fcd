/**
 * Mints tokens for sessions, logins and operators.
 *
 * The token itself appears only in the reply that issues it; the catalogue stores its SHA-256. Callers check
 * whether it may be issued.
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
