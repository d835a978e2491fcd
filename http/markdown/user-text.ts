/**
 * Markdown of users as HTML, with bounded work, so that no text is much dearer than ordinary prose.
 *
 * The parser looks at some parts of a text again and again. Here it counts its steps: each look at a line or
 * a position, each token, each link. What is left when a bound is reached is shown as plain text, and
 * `isCut` says so. Only links to https, http and mailto addresses are links, search engines are asked not to
 * follow them, and a picture becomes a link, so that a page loads nothing from other servers.
 *
 * One text at a time, and synchronous: rendered-texts.ts calls it off the event loop.
 */
import type { MarkdownIt, Token } from 'markdown-it';
import { countCodePoints } from '../../engine/rules/text.ts';
import { escapeMarkup, removeControls } from '../response/document.ts';
import { createParser } from './parser.ts';

/** What a text may take. A full README of 65,536 characters takes 3,000 to 11,000 steps. */
export const textLimits = {
  /** Looks at lines and at positions in them, and tokens. */
  steps: 12_000,
  /** Of these, what may go into finding the blocks. */
  blockSteps: 8_000,
  /** Tokens of blocks that lie in each other; a list in a list counts two. */
  depth: 20,
  links: 1_000,
  linkTries: 1_200,
  addressLength: 2_048,
  labelLength: 1_000,
  /** All attributes of links together, which references repeat. */
  attributesLength: 60_000,
  /** What is printed, in bytes; plain text of 65,536 characters is 393 KB at most. */
  bytes: 450_000,
  bytesPerCharacter: 6.8,
} as const;

export interface UserText {
  readonly html: string;
  /** Whether a part is shown as plain text, because a bound was reached. */
  readonly isCut: boolean;
  /** Steps that were counted. */
  readonly steps: number;
}

const userLink = /^(https?:\/\/|mailto:)/i;
const spent = new Error('the text has taken all its steps');

/** What the text that is being rendered has taken. */
const taken = { steps: 0, stepsMax: 0, links: 0, linkTries: 0, attributes: 0, isCut: false };
type TakenCount = 'links' | 'linkTries' | 'attributes';

const takeStep = (): void => {
  if (taken.steps >= taken.stepsMax) throw spent;
  taken.steps++;
};

/** Counts, and says whether there is any left. */
const takeOne = (count: TakenCount, max: number, amount = 1): boolean => {
  taken[count] += amount;
  if (taken[count] <= max) return true;
  taken.isCut = true;
  return false;
};

/** Runs a part of the parser within the steps left to it. Returns whether they were enough. */
const runBounded = (run: () => void): boolean => {
  try {
    run();
    return true;
  } catch (error) {
    if (error !== spent) throw error;
    taken.isCut = true;
    return false;
  }
};

export const renderPlain = (text: string): string => escapeMarkup(text).replaceAll('\n', '<br>\n');

const createPlain = (parser: MarkdownIt, content: string): Token => {
  const { Token } = new parser.core.State('', parser, {});
  return Object.assign(new Token('plain', '', 0), { content });
};

/** Makes a parser count its tokens. */
const countTokens = <State extends { push: (...args: never[]) => Token }>(part: {
  State: new (...args: never[]) => State;
}): void => {
  part.State = new Proxy(part.State, {
    construct: (State, args: never[]) => {
      const state = new State(...args);
      const push = state.push.bind(state);
      state.push = (...parts) => {
        takeStep();
        return push(...parts);
      };
      return state;
    },
  });
};

/** Counts what the parser of blocks does; what is left at the end of its steps becomes one plain token. */
const boundBlocks = (parser: MarkdownIt): void => {
  const { block } = parser;
  const parse = block.parse.bind(block);
  let whole = { tokens: 0, line: 0, from: 0 };
  countTokens(block);
  block.ruler.before(
    'table',
    'count',
    (...args) => {
      const [state, line, , silent] = args;
      takeStep();
      if (silent) return false;
      if (state.level === 0) whole = { tokens: state.tokens.length, line, from: state.bMarks[line] ?? 0 };
      if (state.level < textLimits.depth) return false;
      taken.isCut = true;
      const token = state.push('plain', '', 0);
      token.content = state.getLines(line, line + 1, state.blkIndent, false);
      state.line = line + 1;
      return true;
    },
    { alt: ['paragraph', 'reference', 'blockquote', 'list'] },
  );
  block.parse = (...args) => {
    const [text, , , tokens] = args;
    whole = { tokens: 0, line: 0, from: 0 };
    if (!runBounded(() => parse(...args))) {
      const token = createPlain(parser, text.slice(whole.from));
      Object.assign(token, { block: true, map: [whole.line, whole.line + 1] });
      tokens.splice(whole.tokens, tokens.length, token);
    }
    taken.stepsMax = textLimits.steps;
  };
};

/** Counts what the parser of paragraphs does; a paragraph without steps left is plain text. */
const boundParagraphs = (parser: MarkdownIt): void => {
  const { inline, helpers } = parser;
  const parse = inline.parse.bind(inline);
  const skipToken = inline.skipToken.bind(inline);
  countTokens(inline);
  inline.ruler.before('text', 'count', () => {
    takeStep();
    return false;
  });
  inline.skipToken = (state) => {
    takeStep();
    skipToken(state);
  };
  inline.parse = (...args) => {
    if (runBounded(() => parse(...args))) return;
    const [text, , , tokens] = args;
    tokens.splice(0, tokens.length, createPlain(parser, text));
  };
  parser.helpers = {
    ...helpers,
    parseLinkLabel: (state, start, ...rest) => {
      const end = helpers.parseLinkLabel(state, start, ...rest);
      return end - start > textLimits.labelLength ? -1 : end;
    },
    parseLinkDestination: (text, start, max) =>
      helpers.parseLinkDestination(text, start, Math.min(max, start + textLimits.addressLength)),
  };
};

/** Bounds the number of links, and what their addresses take. */
const boundLinks = (parser: MarkdownIt): void => {
  const { linkify, renderer } = parser;
  const normalizeLink = parser.normalizeLink.bind(parser);
  const match = linkify.match.bind(linkify);
  const testSchemaAt = linkify.testSchemaAt.bind(linkify);
  linkify.set({ fuzzyLink: false, fuzzyEmail: false, fuzzyIP: false, maxLength: textLimits.addressLength });
  // Addresses that begin so are no links here.
  linkify.add('//', null).add('ftp:', null);
  linkify.testSchemaAt = (...args) => {
    const { linkTries } = textLimits;
    const length = takeOne('linkTries', linkTries) ? testSchemaAt(...args) : 0;
    if (length < textLimits.addressLength) return length;
    // Too long, and each address that begins within it would be tried to its end as well.
    takeOne('linkTries', linkTries, linkTries / 20);
    return 0;
  };
  // The parser takes a match for granted where there is a test; both would try each address.
  linkify.test = (text) => text.includes(':');
  linkify.match = (text) => match(text) ?? [];
  parser.normalizeLink = (url) => (takeOne('links', textLimits.links) ? normalizeLink(url) : '');
  parser.validateLink = (url) => userLink.test(url.trim());
  renderer.rules.link_open = (...args) => {
    const [tokens, index, settings, , self] = args;
    const token = tokens[index] as Token;
    token.attrSet('rel', 'nofollow ugc noopener');
    const attributes = self.renderAttrs(token);
    if (!takeOne('attributes', textLimits.attributesLength, attributes.length)) token.attrs = null;
    return self.renderToken(tokens, index, settings);
  };
};

const createUserParser = (): MarkdownIt => {
  const parser = createParser({ breaks: true, linkify: true, sinkBy: 2 });
  parser.disable('image');
  boundBlocks(parser);
  boundParagraphs(parser);
  boundLinks(parser);
  parser.renderer.rules.plain = (tokens, index) => {
    const { content, block } = tokens[index] as Token;
    return block ? `<p>${renderPlain(content)}</p>\n` : renderPlain(content);
  };
  return parser;
};

/** A block that lies in no other, and where it begins in the text. */
interface Part {
  readonly html: string;
  readonly from: number;
}

const renderParts = (parser: MarkdownIt, text: string, tokens: readonly Token[]): Part[] => {
  let at = 0;
  const lineStarts = text.split('\n').map(({ length }) => {
    at += length + 1;
    return at - length - 1;
  });
  const parts: Part[] = [];
  for (let from = 0, to = 0; from < tokens.length; from = to) {
    do to++;
    while (to < tokens.length && (tokens[to]?.level !== 0 || tokens[to]?.nesting === -1));
    parts.push({
      html: parser.renderer.render(tokens.slice(from, to), parser.options, {}),
      from: lineStarts[tokens[from]?.map?.[0] ?? 0] ?? 0,
    });
  }
  return parts;
};

/** Joins the parts; those at the end become plain text when all would be too long. */
const joinParts = (text: string, parts: readonly Part[]): string => {
  const all = parts.map(({ html }) => html).join('');
  if (Buffer.byteLength(all) <= textLimits.bytes) return all;
  taken.isCut = true;
  let [end, bytes, at, characters] = [0, 0, 0, 0];
  for (const [index, { html, from }] of parts.entries()) {
    characters += countCodePoints(text.slice(at, from));
    at = from;
    if (bytes <= characters * textLimits.bytesPerCharacter) end = index;
    bytes += Buffer.byteLength(html);
  }
  const whole = parts.slice(0, end).map(({ html }) => html);
  return `${whole.join('')}<p>${renderPlain(text.slice(parts[end]?.from))}</p>\n`;
};

let kept: MarkdownIt | null = null;

/** Renders what a user wrote, for a page whose own headings end at the second level. */
export const renderUserText = (written: string): UserText => {
  kept ??= createUserParser();
  const text = removeControls(written).replaceAll(/\r\n?/g, '\n');
  Object.assign(taken, { stepsMax: textLimits.blockSteps, steps: 0, links: 0, linkTries: 0, attributes: 0 });
  taken.isCut = false;
  const html = joinParts(text, renderParts(kept, text, kept.parse(text, {})));
  return { html, isCut: taken.isCut, steps: taken.steps };
};
