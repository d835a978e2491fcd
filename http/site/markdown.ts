/**
 * The guides of docs/, which are Markdown, as HTML: with anchors, and links that lead to this server.
 */
import { createParser } from '../markdown/parser.ts';
import { Html } from './site.ts';

/** A heading of the second level; `id` is the anchor that GitHub gives it as well. */
export interface Heading {
  readonly id: string;
  readonly text: string;
}

export const toAnchor = (text: string): string =>
  text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-');

/** Renders a guide; its headings get anchors. `findLink` says where a link leads, `null`: it is no link. */
export const renderGuide = (
  text: string,
  findLink: (link: string) => string | null,
): { readonly html: Html; readonly headings: readonly Heading[] } => {
  const parser = createParser({ breaks: false, linkify: false, sinkBy: 0 });
  const tokens = parser.parse(text, {});
  const headings: Heading[] = [];
  for (const [index, token] of tokens.entries()) {
    if (token.type === 'heading_open') {
      const title = (tokens[index + 1]?.children ?? []).map(({ content }) => content).join('');
      token.attrSet('id', toAnchor(title));
      if (token.tag === 'h2') headings.push({ id: toAnchor(title), text: title });
    }
    for (const inner of token.children ?? []) {
      if (inner.type !== 'link_open') continue;
      const link = findLink(String(inner.attrGet('href') ?? ''));
      if (link === null) inner.attrs = null;
      else inner.attrSet('href', link);
    }
    if (token.type === 'fence' || token.type === 'code_block') token.info = '';
  }
  return { html: new Html(parser.renderer.render(tokens, parser.options, {})), headings };
};
