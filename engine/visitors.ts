/**
 * Turns a client address into a visitor number that says nothing about the address without the secret.
 *
 * HMAC-SHA-256 over the canonical address (contract §4.2 asks for a SHA-256 of the client address; a bare one
 * over IPv4 could be reversed by trying all addresses), cut to 8 bytes: at a million visitors of one entity
 * the chance of any collision is under 10⁻⁷ per visitor. The numbers of recent addresses are remembered: who
 * opens one page opens another. Pure but for the secret and that memory.
 */
import { createHmac } from 'node:crypto';
import { limits } from './limits.ts';
import { createRecent } from './recent.ts';

/** The first 8 bytes as a signed integer in decimal: 8 bytes in a Redis intset, not 16 of text. */
export const visitorOf = (secret: Uint8Array, clientAddress: string): string =>
  createHmac('sha256', secret).update(clientAddress).digest().readBigInt64BE(0).toString();

/** `visitorOf` for one secret, with a memory. */
export const createVisitors = (secret: Uint8Array): ((clientAddress: string) => string) => {
  const recent = createRecent<string>(limits.recentVisitorsMax);
  return (clientAddress) => {
    const known = recent.get(clientAddress);
    if (known !== undefined) return known;
    const visitor = visitorOf(secret, clientAddress);
    recent.set(clientAddress, visitor);
    return visitor;
  };
};
