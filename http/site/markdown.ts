/**
 * Markdown as HTML: what users wrote about their listings, and the guides of docs/.
 *
 * HTML inside Markdown is shown as text. Of users, only links to https, http and mailto addresses stay, they
 * tell search engines not to follow, and pictures are links: a page loads nothing from other servers. The
 * library is loaded with the first text. Used by the other files of this folder.
 */
import { createRequire } from 'node:module';
import type { MarkdownIt as Parser } from 'markdown-it';
import { Html, removeControls } from './render.ts';

const require = createRequire(import.meta.url);
const userLink = /^(https?:\/\/|mailto:)/i;
const headingLevelMax = 6;

/** A parser; headings sink by `sinkBy` levels below those of the page. */
const createParser = (options: {
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

const createUserParser = (): Parser => {
  const parser = createParser({ breaks: true, linkify: true, sinkBy: 2 });
  parser.linkify.set({ fuzzyLink: false, fuzzyEmail: false, fuzzyIP: false });
  parser.disable('image');
  parser.validateLink = (url) => userLink.test(url.trim());
  parser.renderer.rules.link_open = (...args) => {
    const [tokens, index, settings, , self] = args;
    tokens[index]?.attrSet('rel', 'nofollow ugc noopener');
    return self.renderToken(tokens, index, settings);
  };
  return parser;
};

let userParser: Parser | null = null;

/** What a user wrote, for a page whose own headings end at the second level. */
export const renderUserText = (text: string): Html => {
  userParser ??= createUserParser();
  return new Html(userParser.render(removeControls(text)));
};
