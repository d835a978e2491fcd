/**
 * What replies that are documents share: the headers of pages, text as markup, reading a file once, and the
 * files of a page by name.
 */
import { readFile } from 'node:fs/promises';
import { stripTypeScriptTypes } from 'node:module';
import { Type } from 'typebox';
import { requireFound } from './errors.ts';
import type { Reply } from './reply.ts';

/** Headers of a page, or of a file of a page, under this content security policy. */
export const buildPageHeaders = (policy: string, type = 'text/html; charset=utf-8') => ({
  'Content-Type': type,
  'Content-Security-Policy': policy,
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
});

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Text for an element or an attribute in quotes, of HTML or SVG. */
export const escapeMarkup = (text: string): string =>
  text.replace(/[&<>"']/g, (character) => entities[character] ?? '');

// biome-ignore lint/suspicious/noControlCharactersInRegex: HTML has no way to write these.
const controls = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/g;
export const removeControls = (text: string): string => text.replace(controls, '');

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

/** Reads a file of a page; a script without its types. */
const readPagePart = async (file: URL): Promise<string> => {
  const text = await readFile(file, 'utf8');
  return file.pathname.endsWith('.ts') ? stripTypeScriptTypes(text) : text;
};

/** A file of a page: its parts, read at its first request, joined and finished. */
export const createPageFile = (
  parts: readonly URL[],
  headers: ReturnType<typeof buildPageHeaders>,
  finish = (text: string) => text,
) =>
  readOnce(async () => ({
    status: 200,
    text: finish((await Promise.all(parts.map(readPagePart))).join('\n')),
    headers,
  }));

/** The parameters of a route that serves the files of a page. */
export const PageFileParams = Type.Object({ file: Type.String({ maxLength: 32 }) });

/** The reply for the file of this name. Throws `not_found` for an unknown one. */
export const replyPageFile = (
  readers: ReadonlyMap<string, () => Promise<Reply>>,
  name: string,
): Promise<Reply> => requireFound(readers.get(name), 'file')();
