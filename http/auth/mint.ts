/**
 * Mints tokens for sessions, logins and operators.
 *
 * The token itself appears only in the reply that issues it; the catalogue stores its SHA-256. Callers check
 * whether it may be issued.
 */
import { createHmac, hash, randomBytes } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';
import { formatToken, type TokenKind } from '../../engine/rules/token.ts';

export interface MintedToken {
  /** The session's id. */
  readonly id: string;
  readonly token: string;
  readonly tokenHash: Buffer;
}

const secretBytes = 32;

/** A token that a repeat of its request shows again: its session's id, and what makes its secret. */
export interface DerivedToken {
  readonly id: string;
  /** 64 hex digits that are not in SQL. */
  readonly secretsKey: string;
  /** The request: caller, operation and idempotency key as one hash. */
  readonly scope: Buffer;
}

const deriveSecret = ({ id, secretsKey, scope }: DerivedToken): Buffer =>
  createHmac('sha256', Buffer.from(secretsKey, 'hex'))
    .update('token of a session')
    .update(scope)
    .update(id)
    .digest();

export const mintToken = (
  target: { readonly kind: TokenKind; readonly id: string },
  derived?: DerivedToken,
): MintedToken => {
  const token = formatToken(target, derived ? deriveSecret(derived) : randomBytes(secretBytes));
  return { id: derived?.id ?? uuidv7(), token, tokenHash: hash('sha256', token, 'buffer') };
};
