/**
 * The programs that fetch a page to show it to people elsewhere: as the preview of a link, or in a search.
 * They name no media type, so the pages that people share are sent to them by what they are. Pure.
 *
 * A closed list: every other program that takes anything, such as the libraries of bots, gets the API's
 * reply. A token is what the operator of the fetcher documents, with its case: libraries for bots are
 * `DiscordBot (…)`, the fetcher of links is `Discordbot/2.0`.
 */
import type { RequestHeaders } from '../server/wire.ts';

const fetchers: readonly (readonly [token: string, of: string])[] = [
  ['Discordbot/', 'Discord'],
  ['TelegramBot (like TwitterBot)', 'Telegram'],
  ['Slackbot-LinkExpanding ', 'Slack'],
  ['SkypeUriPreview ', 'Microsoft Teams, Skype'],
  ['WhatsApp/', 'WhatsApp, Signal'],
  ['facebookexternalhit/', 'Facebook, Messenger, Instagram, Threads; iMessage, LINE and KakaoTalk add it'],
  ['Twitterbot/', 'X'],
  ['LinkedInBot/', 'LinkedIn'],
  ['Mastodon/', 'Mastodon'],
  ['SummalyBot/', 'Misskey and its forks'],
  ['Bluesky Cardyb/', 'Bluesky'],
  ['Synapse (bot; ', 'Matrix'],
  ['January/', 'Stoat, formerly Revolt'],
  ['ZulipURLPreview/', 'Zulip'],
  ['Discourse Forum Onebox ', 'Discourse'],
  ['redditbot/', 'Reddit'],
  ['Pinterestbot/', 'Pinterest'],
  ['Tumblr/', 'Tumblr'],
  ['vkShare', 'VK'],
  ['Snap URL Preview Service', 'Snapchat'],
  ['Embedly/', 'Embedly'],
  ['Iframely/', 'Iframely'],
  ['Googlebot/', 'Google Search'],
  ['Google-InspectionTool/', 'Google Search Console'],
  ['bingbot/', 'Bing'],
  ['BingPreview/', 'Bing'],
  ['Applebot/', 'Siri, Spotlight'],
  ['DuckDuckBot/', 'DuckDuckGo'],
  ['YandexBot/', 'Yandex'],
  ['Baiduspider', 'Baidu'],
  ['Yahoo! Slurp', 'Yahoo'],
  ['SeznamBot/', 'Seznam'],
  ['Yeti/', 'Naver'],
  ['Sogou web spider/', 'Sogou'],
  ['PetalBot', 'Petal Search'],
  ['coccocbot-web/', 'Cốc Cốc'],
  ['Qwantbot/', 'Qwant'],
  ['MojeekBot/', 'Mojeek'],
];

const tokens = fetchers.map(([token]) => token.replace(/[()!]/g, '\\$&')).join('|');
/** A fetcher names itself first, in a comment of its own or as what it is compatible with. */
const namedFirst = new RegExp(`(?:^|\\(|compatible; ?)(?:${tokens})`);
/** Beside browsers; in comments stand what a program is like, or a repository called Discordbot. */
const namedBeside = new RegExp(` (?:${tokens})`);
const comment = /\([^()]*\)/g;
const anyType = /^\s*\*\/\*\s*(?:;[^,]*)?$/;

/** Whether a program of the list sent this. It is no visitor, whatever it accepts. */
export const isFetcher = ({ userAgent }: Pick<RequestHeaders, 'userAgent'>): boolean =>
  namedFirst.test(userAgent) || namedBeside.test(userAgent.replace(comment, ''));

/** Whether a program of the list sent this, and it takes any type. */
export const isPageFetch = (headers: Pick<RequestHeaders, 'userAgent' | 'accept'>): boolean =>
  (headers.accept === '' || anyType.test(headers.accept)) && isFetcher(headers);
