/**
 * The parser of Markdown, for what users wrote and for the guides. HTML inside Markdown is shown as text. The
 * library is loaded with the first parser.
 */
import { createRequire } from 'node:module';
import type { MarkdownIt as Parser } from 'markdown-it';

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
