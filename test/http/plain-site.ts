/**
 * The site of tests: the default settings, and addresses without a host.
 */
import type { SiteOptions, SiteSettings } from '../../http/site/site.ts';

export const plainSettings: SiteSettings = {
  siteName: 'Rollcall',
  siteLogoUrl: '',
  siteAccent: '#1f5fbf',
  siteLinks: [],
  sitePages: 'on',
  loginAvatarUrl: '',
};

export const plainSite: SiteOptions = { settings: plainSettings, readUrl: () => '' };
