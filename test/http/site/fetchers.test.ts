/**
 * Who gets a page without a preference for HTML: fetchers of previews and search engines, by the headers that
 * they send; and no library for HTTP or for bots, by its default agent.
 */
import { request } from 'node:http';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { addBot, addPack, addServer, addTeam, addUser } from '../../storage/catalogue/directory.ts';
import { assertIncludes } from '../../support/assert-includes.ts';
import { until } from '../../support/until.ts';
import { openWorld } from '../api/world.ts';

const test = suite('fetchers');
const world = await openWorld();
test.after(() => world.close());
await addUser(world.sql, 'robin');
await addBot(world.sql, 'bot1', { vanity: 'lighthouse' });
await addTeam(world.sql, 'team1', 'keepers');
await addServer(world.sql, 'server1', { team_id: 'team1' });
await addPack(world.sql, 'night-owls', { bot_ids: ['bot1'] });

interface Fetched {
  readonly status: number;
  readonly vary: string;
  readonly type: string;
  readonly text: string;
}

/** Sends these headers and no other but `Host`: `fetch` always sends an `Accept`. */
const get = (path: string, headers: Readonly<Record<string, string>>, method = 'GET') =>
  new Promise<Fetched>((resolve, reject) => {
    const sent = request({ port: world.port, path, headers, method, agent: false }, (reply) => {
      const chunks: Buffer[] = [];
      reply.on('data', (chunk: Buffer) => chunks.push(chunk));
      reply.on('end', () =>
        resolve({
          status: reply.statusCode ?? 0,
          vary: reply.headers.vary ?? '',
          type: reply.headers['content-type'] ?? '',
          text: Buffer.concat(chunks).toString(),
        }),
      );
    });
    sent.on('error', reject).end();
  });

const chrome = 'AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36';
const any = '*/*';
/** `null` for no `Accept`. */
const programs: readonly (readonly [agent: string, accept: string | null])[] = [
  ['Mozilla/5.0 (compatible; Discordbot/2.0; +https://discordapp.com)', null],
  ['TelegramBot (like TwitterBot)', any],
  ['Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)', any],
  ['WhatsApp/2.23.20.0 A', any],
  ['facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)', any],
  [
    'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_11_1) AppleWebKit/601.2.4 (KHTML, like Gecko) Version/9.0.1' +
      ' Safari/601.2.4 facebookexternalhit/1.1 Facebot Twitterbot/1.0',
    any,
  ],
  ['facebookexternalhit/1.1;line-poker/1.0', null],
  ['Twitterbot/1.0', any],
  ['LinkedInBot/1.0 (compatible; Mozilla/5.0; Apache-HttpClient +http://www.linkedin.com)', any],
  ['Mozilla/5.0 (Windows NT 6.1; WOW64) SkypeUriPreview Preview/0.5 skype-url-preview@microsoft.com', null],
  ['Mastodon/4.3.1 (http.rb/5.2.0; +https://mastodon.example/) Bot', 'text/html'],
  ['http.rb/5.1.1 (Mastodon/4.2.1; +https://mastodon.example/) Bot', null],
  ['Mozilla/5.0 (compatible; Bluesky Cardyb/1.1; +mailto:support@bsky.app)', any],
  ['Synapse (bot; +https://github.com/matrix-org/synapse)', null],
  ['Mozilla/5.0 (compatible; January/2.0; +https://github.com/stoatchat/january)', any],
  ['Mozilla/5.0 (compatible; ZulipURLPreview/9.2; +https://zulip.example)', any],
  ['SummalyBot/5.0.3', any],
  ['Mozilla/5.0 (compatible; redditbot/1.0; +http://www.reddit.com/feedback)', any],
  ['Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)', any],
  [`Mozilla/5.0 ${chrome.replace(' Chrome', '; compatible; Googlebot/2.1; +http://x) Chrome')}`, '*/*;q=0.8'],
  [`Mozilla/5.0 ${chrome}; compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm) Chrome/116.0`, any],
  ['DuckDuckBot/1.1; (+http://duckduckgo.com/duckduckbot.html)', null],
  ['Mozilla/5.0 (compatible; YandexBot/3.0; +http://yandex.com/bots)', any],
  ['Mozilla/5.0 (compatible; Yahoo! Slurp; http://help.yahoo.com/help/us/ysearch/slurp)', any],
];

const httpLibraries = [
  '',
  'curl/8.5.0',
  'Wget/1.21.4',
  'python-requests/2.32.3',
  'python-httpx/0.27.0',
  'Python/3.12 aiohttp/3.9.5',
  'Python-urllib/3.12',
  'node',
  'node-fetch/1.0 (+https://github.com/bitinn/node-fetch)',
  'undici',
  'axios/1.7.2',
  'got (https://github.com/sindresorhus/got)',
  'Bun/1.1.20',
  'Deno/1.45.2',
  'Go-http-client/1.1',
  'Java/17.0.9',
  'Apache-HttpClient/5.3.1 (Java/21.0.2)',
  'okhttp/4.12.0',
  'ktor-client',
  'GuzzleHttp/7',
  'Faraday v2.9.0',
  'libwww-perl/6.72',
  'RestSharp/111.2.0.0',
  'Dart/3.4 (dart:io)',
  'PostmanRuntime/7.39.0',
  'Mozilla/5.0 (Windows NT; Windows NT 10.0; en-US) WindowsPowerShell/5.1.19041.4522',
];
const botLibraries = [
  'DiscordBot (https://discord.js.org, 14.15.3) Node.js/v22.3.0',
  'DiscordBot (https://github.com/Rapptz/discord.py 2.4.0) Python/3.12 aiohttp/3.9.5',
  'DiscordBot (https://github.com/discord-jda/JDA, 5.0.0)',
  'DiscordBot (https://github.com/bwmarrin/discordgo, v0.28.1)',
  'DiscordBot (https://github.com/serenity-rs/serenity, 0.12.2)',
  'DiscordBot (https://github.com/abalabahaha/eris, 0.17.2)',
  'DiscordBot (https://github.com/DSharpPlus/DSharpPlus, 4.5.0)',
  'DiscordBot (https://github.com/discord-net/Discord.Net, v3.15.2)',
  'DiscordBot (https://github.com/someone/Discordbot/tree/main, 1.0)',
  'python-telegram-bot v21.3 (https://python-telegram-bot.org)',
  'TelegramBot/1.0',
  'slackclient/3.0.0 Python/3.12 Darwin/23',
  '@slack:web-api/7.0.4 node/22.3.0 linux/6.1',
  'Slackbot 1.0',
  'mastodonpy',
  'MyMastodon/1.0',
];

const pages = ['/', '/@lighthouse', '/@server-server1', '/@keepers', '/@night-owls', '/@packs/night-owls'];

test('previews and search engines get the page of each kind, whatever type they take', async () => {
  for (const [agent, accept] of programs) {
    for (const path of pages) {
      const headers = { 'User-Agent': agent, ...(accept !== null && { Accept: accept }) };
      const { status, vary, type } = await get(path, headers);

      assert.equal([status, vary], [200, 'Accept, User-Agent'], `${agent} ${path}`);
      assert.is(type, 'text/html; charset=utf-8', `${agent} ${path}`);
      const head = await get(path, headers, 'HEAD');
      assert.equal([head.status, head.vary, head.type, head.text], [200, vary, type, ''], `HEAD ${agent}`);
    }
  }
});

test('who is like a fetcher, or writes its name in lower case, gets what the API says', async () => {
  const others = [
    ...programs
      .filter(([agent]) => !/facebookexternalhit|redditbot|bingbot/.test(agent))
      .map(([agent]) => agent.toLowerCase()),
    'curl/8.5.0 (like Twitterbot/1.0)',
    'MyBot/1.0 (not Googlebot/2.1; +https://bot.example)',
    'Mozilla/5.0 (X11; Linux x86_64; like Googlebot/2.1) Gecko/20100101 Firefox/133.0',
    'DiscordBot (https://github.com/someone/bot, 1.0; not Discordbot/2.0)',
    'axios/1.7.2 (a preview; WhatsApp/2.23.20.0)',
  ];
  for (const agent of others)
    for (const method of ['GET', 'HEAD'])
      assert.is((await get('/@lighthouse', { 'User-Agent': agent }, method)).status, 302, agent);
});

test('libraries for HTTP and for bots get what the API says', async () => {
  const accepts: readonly Readonly<Record<string, string>>[] = [
    {},
    { Accept: any },
    { Accept: 'application/json, text/plain, */*' },
  ];
  assert.ok(httpLibraries.length >= 20 && botLibraries.length >= 8);
  for (const agent of [...httpLibraries, ...botLibraries]) {
    for (const accept of accepts) {
      const headers = { ...(agent !== '' && { 'User-Agent': agent }), ...accept };
      const [found, root] = [await get('/@lighthouse', headers), await get('/', headers)];

      assert.equal([found.status, found.vary], [302, 'Accept, User-Agent'], agent);
      assert.equal(
        [root.status, root.type, root.vary],
        [200, 'application/json', 'Accept, User-Agent'],
        agent,
      );
    }
  }
});

test('a fetcher that names a type gets it, and elsewhere every fetcher gets what the API says', async () => {
  const agent = { 'User-Agent': 'Mozilla/5.0 (compatible; Discordbot/2.0; +https://discordapp.com)' };

  assert.is((await get('/@lighthouse', { ...agent, Accept: 'application/json' })).status, 302);
  assert.is((await get('/@lighthouse', { ...agent, Accept: '*/*, application/json' })).status, 302);
  const search = await get('/search', { ...agent, Accept: any });
  assert.equal([search.type, search.vary], ['application/json', 'Accept']);
  const missing = await get('/@nothing', { ...agent, Accept: any });
  assert.equal([missing.status, missing.type], [404, 'text/html; charset=utf-8']);
  assertIncludes(missing.text, 'There is nothing here');
});

test('a fetcher is no visitor, whatever it accepts', async () => {
  const read = async () => {
    const { clicks, invite_clicks } = (await world.ask('GET', '/bots/bot1')).json;
    return { clicks, invite_clicks };
  };
  const before = await read();
  for (const [agent] of programs.slice(0, 12)) {
    for (const accept of [any, 'text/html'])
      for (const path of ['/@lighthouse', '/@lighthouse/invite'])
        await get(path, { 'User-Agent': agent, Accept: accept });
  }
  for (const path of ['/@lighthouse', '/@lighthouse/invite'])
    await get(path, { 'User-Agent': `Mozilla/5.0 ${chrome}`, Accept: 'text/html' });
  await until('the view and the invite', async () => {
    const now = await read();
    return now.clicks > before.clicks && now.invite_clicks > before.invite_clicks;
  });

  const { clicks, invite_clicks } = await read();
  assert.equal([clicks - before.clicks, invite_clicks - before.invite_clicks], [1, 1]);
});

test.run();
