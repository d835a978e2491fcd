/**
 * The front page of the public listener, for people who open the address in a browser: what this is, live
 * numbers, where the documents are, and with the demo three requests to try.
 *
 * One file that loads nothing from elsewhere. Its policy allows exactly its own script and style, by their
 * hashes, so a name that contains markup cannot run. Read once.
 */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { buildPageHeaders } from '../response/document.ts';
import type { Reply } from '../response/reply.ts';

const hashElement = (html: string, element: 'script' | 'style'): string => {
  const [, content = ''] = new RegExp(`<${element}[^>]*>(.*?)</${element}>`, 's').exec(html) ?? [];
  return `'sha256-${createHash('sha256').update(content).digest('base64')}'`;
};

/** Reads the page. */
export const readFrontPage = async (): Promise<Reply> => {
  const html = await readFile(new URL('front-page.html', import.meta.url), 'utf8');
  const policy = [
    `default-src 'none'; script-src ${hashElement(html, 'script')}; style-src ${hashElement(html, 'style')}`,
    "img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  ];
  return {
    status: 200,
    text: html,
    headers: { Vary: 'Accept', ...buildPageHeaders(policy.join('; ')) },
  };
};
