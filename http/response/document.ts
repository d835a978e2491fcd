/**
 * What replies that are documents share: the headers of pages, and reading a file once.
 */
import type { Reply } from './reply.ts';

/** Headers of a page, or of a file of a page, under this content security policy. */
export const buildPageHeaders = (policy: string, type = 'text/html; charset=utf-8') => ({
  'Content-Type': type,
  'Content-Security-Policy': policy,
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
});

/** Bytes and a tag that is computed once: the same text would be encoded and hashed for each request. */
const prepare = ({ text, ...reply }: Reply): Reply =>
  text === undefined ? reply : { ...reply, bytes: Buffer.from(text), tag: { etag: '' } };

/** Returns a function that calls `read` once; after a failure the next call reads again. */
export const readOnce = (read: () => Promise<Reply>): (() => Promise<Reply>) => {
  let reply: Promise<Reply> | null = null;
  return () => {
    reply ??= read()
      .then(prepare)
      .catch((error: unknown) => {
        reply = null;
        throw error;
      });
    return reply;
  };
};
