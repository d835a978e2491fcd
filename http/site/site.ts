/**
 * What all pages of the site share: its name, logo and colours, its address, and its content security policy.
 *
 * The policy allows no inline script or style, nothing from other servers but pictures of two places that the
 * operator chose (SITE_LOGO_URL, LOGIN_AVATAR_URL), and no text that becomes markup. Created once per node.
 */
import { buildPageHeaders } from '../response/document.ts';
import { deriveAccents } from './colors.ts';

/** The settings of the site. */
export interface SiteSettings {
  readonly siteName: string;
  readonly siteLogoUrl: string;
  readonly siteAccent: string;
  readonly sitePages: 'on' | 'off';
  /** The template of avatars; those of other places are not shown. */
  readonly loginAvatarUrl: string;
  readonly loginRedirectUris: readonly string[];
}

export interface SiteOptions {
  readonly settings: SiteSettings;
  /** The public address, without a slash at the end; known when the node listens. */
  readonly readUrl: () => string;
}

export interface Site extends SiteOptions {
  readonly accents: { readonly light: string; readonly dark: string };
  readonly pageHeaders: Readonly<Record<string, string>>;
  /** Whether the policy lets a page load a picture from this address. */
  readonly mayShow: (url: string) => boolean;
}

export const defaultSiteSettings: SiteSettings = {
  siteName: 'Rollcall',
  siteLogoUrl: '',
  siteAccent: '#1f5fbf',
  sitePages: 'on',
  loginAvatarUrl: '',
  loginRedirectUris: [],
};

/** The backgrounds of site.css, on which the accent must be readable. */
export const backgrounds = { light: '#f6f7f9', dark: '#1c1f25' } as const;

const readOrigin = (url: string): string => (URL.canParse(url) ? new URL(url).origin : '');

const buildPolicy = (pictures: readonly string[]): string =>
  [
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; form-action 'self'",
    `img-src ${["'self'", 'data:', ...pictures].join(' ')}`,
    "base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
  ].join('; ');

export const createSite = (options: SiteOptions): Site => {
  const { siteLogoUrl, loginAvatarUrl, siteAccent } = options.settings;
  const origins = [siteLogoUrl, loginAvatarUrl].map(readOrigin).filter((origin) => origin !== '');
  const pictures = [...new Set(origins)];
  return {
    ...options,
    accents: deriveAccents(siteAccent, backgrounds),
    pageHeaders: { ...buildPageHeaders(buildPolicy(pictures)), Vary: 'Accept' },
    mayShow: (url) => url !== '' && pictures.includes(readOrigin(url)),
  };
};
