/**
 * The grammar of access tokens: `rc_<kind>_<id>_<secret><checksum>`.
 *
 * Pure. The secret is 43 base62 digits (256 bits), the checksum 6 base62 digits of the CRC-32 of everything
 * before it: a mistyped token is recognised without a look-up, and secret scanners can recognise ours.
 * Proxies can read kind and id, which are not trusted until the secret's hash matches. The grammar never
 * changes (docs/behaviour/tokens.md).
 */
import { crc32 } from 'node:zlib';

export const tokenKinds = ['user', 'bot', 'server', 'team'] as const;
export type TokenKind = (typeof tokenKinds)[number];

export interface TokenParts {
  readonly kind: TokenKind;
  readonly id: string;
}

const tokenSecretDigits = 43;
const tokenChecksumDigits = 6;
const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const shape = /^rc_(user|bot|server|team)_([A-Za-z0-9-]{1,64})_([0-9A-Za-z]{49})$/;

const encodeBase62 = (value: bigint, digits: number): string => {
  let text = '';
  for (let index = 0; index < digits; index++) {
    text = alphabet.charAt(Number(value % 62n)) + text;
    value /= 62n;
  }
  return text;
};

const computeChecksum = (text: string): string => encodeBase62(BigInt(crc32(text)), tokenChecksumDigits);

/** Formats a token with 32 random bytes from the caller. Throws `RangeError` for another number of bytes. */
export const formatToken = (parts: TokenParts, secret: Uint8Array): string => {
  if (secret.length !== 32) throw new RangeError('a token secret is 32 bytes');
  const number = BigInt(`0x${Buffer.from(secret).toString('hex')}`);
  const body = `rc_${parts.kind}_${parts.id}_${encodeBase62(number, tokenSecretDigits)}`;
  return body + computeChecksum(body);
};

/** Parses kind and id of a well-formed token with a correct checksum; else `null`. */
export const parseToken = (token: string): TokenParts | null => {
  const match = shape.exec(token);
  if (match === null) return null;
  const body = token.slice(0, -tokenChecksumDigits);
  if (computeChecksum(body) !== token.slice(-tokenChecksumDigits)) return null;
  return { kind: match[1] as TokenKind, id: match[2] as string };
};
