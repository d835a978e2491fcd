/**
 * Computes and compares entity tags. A tag is the first 120 bits of the SHA-1 of the body: it identifies
 * content and has no security purpose. Pure.
 */
import { hash } from 'node:crypto';

/** Returns a strong tag, in quotes. */
export const computeEtag = (body: string | Uint8Array): string =>
  `"${hash('sha1', body, 'base64').slice(0, 20)}"`;

/** Whether an `If-None-Match` value names this tag; weak comparison, as for GET. */
export const matchesEtag = (ifNoneMatch: string, etag: string): boolean =>
  ifNoneMatch === '*' ||
  ifNoneMatch.split(',', 64).some((candidate) => candidate.trim().replace(/^W\//, '') === etag);
