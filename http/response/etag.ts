/**
 * Entity tags from a body's bytes, and their comparison. A tag is the first 120 bits of the SHA-1 of the
 * body: it names bytes, it guards nothing. Pure.
 */
import { hash } from 'node:crypto';

/** A strong tag, in quotes. */
export const computeEtag = (body: string): string => `"${hash('sha1', body, 'base64').slice(0, 20)}"`;

/** Whether an `If-None-Match` value names this tag; weak comparison, as for GET. */
export const matchesEtag = (ifNoneMatch: string, etag: string): boolean =>
  ifNoneMatch === '*' ||
  ifNoneMatch.split(',', 64).some((candidate) => candidate.trim().replace(/^W\//, '') === etag);
