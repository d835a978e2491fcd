/**
 * What all pages of the site share: its name, logo and colours, its address, its content security policy, and
 * HTML as a template. What is inserted is escaped, unless it is `Html`, so a name that contains markup stays
 * a name.
 *
 * The policy allows no inline script or style, nothing from other servers but pictures of two places that the
 * operator chose (SITE_LOGO_URL, LOGIN_AVATAR_URL), and no text that becomes markup. Created once per node.
 */
import type { EntityKind } from '../../engine/ids.ts';
import { buildPageHeaders, escapeMarkup, removeControls } from '../response/document.ts';
import { createCards, openDrawThread } from './cards/cards.ts';
import { deriveAccents } from './colors.ts';

/** The settings of the site. */
export interface SiteSettings {
  readonly siteName: string;
  readonly siteLogoUrl: string;
  readonly siteAccent: string;
  /** Further links of the footer, each as title=address. */
  readonly siteLinks: readonly string[];
  readonly sitePages: 'on' | 'off';
  /** The template of avatars; pictures of other servers are not shown, except the logo's. */
  readonly loginAvatarUrl: string;
}

export interface SiteOptions {
  readonly settings: SiteSettings;
  /** The public address, without a slash at the end; known when the node listens. */
  readonly readUrl: () => string;
}

export const kindTitles: Readonly<Record<EntityKind, string>> = {
  bot: 'Bot',
  server: 'Server',
  team: 'Team',
  pack: 'Pack',
};

/** The backgrounds of base.css, on which the accent must be readable. */
export const backgrounds = { light: '#f6f7f9', dark: '#1c1f25' } as const;

/** The `Vary` of addresses where fetchers get a page (fetchers.ts). */
export const sharedVary = 'Accept, User-Agent';

export const siteDescription = 'A public directory of bots, chat servers, teams and packs.';

const readOrigin = (url: string): string => (URL.canParse(url) ? new URL(url).origin : '');

const buildPolicy = (pictures: readonly string[]): string =>
  [
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; form-action 'self'",
    `img-src ${["'self'", 'data:', ...pictures].join(' ')}`,
    "base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
  ].join('; ');

/** The cards, with that of the site itself; `null` without the add-on that draws them. */
const openSiteCards = (look: { readonly siteName: string; readonly accent: string }) => {
  const draw = openDrawThread();
  if (draw === null) return null;
  const cards = createCards(draw, look);
  const ownCard = { kind: '', name: look.siteName, short: siteDescription };
  return { ...cards, own: cards.findEdition(ownCard), showOwn: () => cards.show(ownCard) };
};

export const createSite = (options: SiteOptions) => {
  const { siteName, sitePages, siteLogoUrl, loginAvatarUrl, siteAccent } = options.settings;
  const origins = [siteLogoUrl, loginAvatarUrl].map(readOrigin).filter((origin) => origin !== '');
  const pictures = [...new Set(origins)];
  const accents = deriveAccents(siteAccent, backgrounds);
  const headers = buildPageHeaders(buildPolicy(pictures));
  return {
    ...options,
    accents,
    cards: sitePages === 'on' ? openSiteCards({ siteName, accent: accents.light }) : null,
    pageHeaders: { ...headers, Vary: 'Accept' },
    /** Of the pages that are sent to fetchers, too (fetchers.ts). */
    sharedPageHeaders: { ...headers, Vary: sharedVary },
    /** Whether the policy lets a page load a picture from this address. */
    mayShow: (url: string) => url !== '' && pictures.includes(readOrigin(url)),
  };
};
export type Site = ReturnType<typeof createSite>;

/** Markup that is safe to send. Made only here, and by markdown.ts from what its parser escaped. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

export type HtmlValue = Html | string | number | null | readonly HtmlValue[];

/** Escapes text for an element or a quoted attribute. Removes control characters, and so any forged slot. */
export const escapeHtml = (text: string): string => escapeMarkup(removeControls(text));

const toMarkup = (value: HtmlValue): string => {
  if (value === null) return '';
  if (value instanceof Html) return value.text;
  if (typeof value === 'object') return value.map(toMarkup).join('');
  return escapeHtml(String(value));
};

/** Tags a template as HTML; `null` inserts nothing. */
export const render = (strings: TemplateStringsArray, ...values: readonly HtmlValue[]): Html =>
  new Html(strings.map((text, index) => text + toMarkup(values[index] ?? null)).join(''));

const slotMark = '\u0001';

/** Renders the place of a value that is filled in later, once for each reply. */
export const renderSlot = (name: string): Html => new Html(slotMark + name + slotMark);

/** A page with slots: text and names of slots by turns. */
export type PageTemplate = readonly string[];

export const toTemplate = ({ text }: Html): PageTemplate => text.split(slotMark);

/** Fills in the slots. Values are not escaped: they must be numbers, times or fixed words. */
export const fillTemplate = (template: PageTemplate, values: Readonly<Record<string, string>>): string => {
  let page = template[0] ?? '';
  for (let at = 1; at < template.length; at += 2)
    page += (values[template[at] as string] ?? '') + (template[at + 1] as string);
  return page;
};
