/**
 * Markdown as HTML: the parser, for what users wrote (user-text.ts), and the guides of docs/.
 *
 * HTML inside Markdown is shown as text. The library is loaded with the first text.
 */
import { createRequire } from 'node:module';
import type { MarkdownIt as Parser } from 'markdown-it';
import { Html } from './site.ts';

const require = createRequire(import.meta.url);
const headingLevelMax = 6;

/** Creates a parser that lowers all headings by `sinkBy` levels, below those of the page. */
export const createParser = (options: {
  readonly breaks: boolean;
  readonly linkify: boolean;
  readonly sinkBy: number;
}): Parser => {
  const { sinkBy, ...rest } = options;
  const MarkdownIt: typeof import('markdown-it').default = require('markdown-it');
  const parser = new MarkdownIt('default', { html: false, ...rest });
  for (const rule of ['heading_open', 'heading_close'] as const) {
    parser.renderer.rules[rule] = (...args) => {
      const [tokens, index, settings, , self] = args;
      const token = tokens[index];
      if (token !== undefined)
        token.tag = `h${Math.min(headingLevelMax, Number(token.tag.slice(1)) + sinkBy)}`;
      return self.renderToken(tokens, index, settings);
    };
  }
  return parser;
};

/** A heading of the second level; `id` is the anchor that GitHub gives it as well. */
export interface Heading {
  readonly id: string;
  readonly text: string;
}

const toAnchor = (text: string): string =>
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
