/**
 * The pages of listings against a complete Rollcall: who gets a page and who the reply of the API, which
 * views count, what is text and what is markup, invites, the sitemap, and a site without pages.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  addBot,
  addMember,
  addPack,
  addServer,
  addTeam,
  addUser,
} from '../../storage/catalogue/directory.ts';
import { assertExcludes, assertIncludes } from '../../support/assert-includes.ts';
import { until } from '../../support/until.ts';
import { openWorld, type World } from '../api/world.ts';
import { plainSettings } from '../plain-site.ts';

const test = suite('pages of listings');
const site = {
  settings: {
    ...plainSettings,
    siteName: 'Night <market>',
    siteLogoUrl: 'https://cdn.example/logo.svg',
    siteLinks: ['Privacy & <terms>=https://list.example/p?a=b&c', 'Impressum=/imprint'],
  },
  readUrl: () => 'https://list.example',
};
const world = await openWorld({ site });
const { sql } = world;
test.after(() => world.close());

const browser = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';

interface Visited {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}
const visit = async (
  path: string,
  { method = 'GET', headers = {}, on = world }: { method?: string; headers?: object; on?: World } = {},
): Promise<Visited> => {
  const sent = { accept: browser, ...headers };
  const url = `http://127.0.0.1:${on.port}${path}`;
  const reply = await fetch(url, { method, redirect: 'manual', headers: sent });
  return { status: reply.status, headers: reply.headers, text: await reply.text() };
};

const markup = '<img src=x onerror=alert(1)>';
for (const user of ['robin', 'wren']) await addUser(sql, user);
await addUser(sql, 'bot1', { username: `${markup}\u0001votes\u0001` });
await addTeam(sql, 'team1', 'keepers');
await addMember(sql, 'team1', { user: 'robin', permissions: ['owner'] });
await addBot(sql, 'bot1', {
  vanity: 'lighthouse',
  long: [
    `# Title\n\n${markup}\n\n[good](https://example.org/a) [bad](javascript:alert(1))`,
    ' ![p](https://example.org/p.png)\n\n\u0001votes\u0001',
  ].join(''),
});
await addBot(sql, 'bot2', { team_id: 'team1', vanity: 'windmill', type: 'pending' });
await addServer(sql, 'server1', { team_id: 'team1' });
await addPack(sql, 'night-owls', { bot_ids: ['bot1', 'bot2', 'gone'], server_ids: ['server1'] });
await addPack(sql, 'lighthouse', { bot_ids: ['bot1'] });

test('a browser gets a page at the address of a bot, a server, a team and a pack', async () => {
  for (const [path, title] of [
    ['/@LIGHTHOUSE', '&lt;IMG SRC=X'],
    ['/@bot1', '&lt;IMG SRC=X'],
    ['/@server-server1', 'Server server1'],
    ['/@keepers', 'Team team1'],
    ['/@night-owls', 'Pack night-owls'],
    ['/@packs/night-owls', 'Pack night-owls'],
    ['/@packs/lighthouse', 'Pack lighthouse'],
  ] as const) {
    const { status, text, headers } = await visit(path);

    assert.is(status, 200, path);
    assertIncludes(text, `<h1 dir="auto">${title}`, path);
    assert.is(headers.get('vary'), 'Accept, User-Agent');
    assert.is(headers.get('content-type'), 'text/html; charset=utf-8');
    assert.match(headers.get('content-security-policy') ?? '', /default-src 'none'; script-src 'self';/);
    assert.not.match(headers.get('content-security-policy') ?? '', /unsafe/);
  }
});

test('who does not strictly prefer HTML gets the redirect of before', async () => {
  for (const accept of ['', '*/*', 'application/json', 'text/html, */*', 'text/html;q=0.5, */*;q=0.5']) {
    const { status, headers } = await visit('/@lighthouse', { headers: { accept } });

    assert.equal([status, headers.get('location')], [302, '/bots/bot1'], accept);
    assert.is(headers.get('vary'), 'Accept, User-Agent');
  }
  const error = await visit('/@nothing', { headers: { accept: 'application/json' } });
  assert.is(JSON.parse(error.text).context.code, 'not_found');
});

test('a view counts once, but not for HEAD, a prefetch or another client', async () => {
  const count = async (): Promise<number> => (await world.ask('GET', '/bots/bot1')).json.clicks;
  const before = await count();
  await visit('/@lighthouse', { method: 'HEAD' });
  for (const header of ['sec-purpose', 'purpose', 'x-purpose', 'x-moz'])
    await visit('/@lighthouse', { headers: { [header]: 'prefetch;prerender' } });
  await visit('/@lighthouse', { headers: { 'x-purpose': 'preview' } });
  await visit('/@lighthouse', { headers: { accept: '*/*' } });
  await visit('/@lighthouse');
  await visit('/@lighthouse');
  await until('the views', async () => (await count()) >= before + 2);

  assert.is(await count(), before + 2);
});

test('what users wrote is text or Markdown, never markup or a slot', async () => {
  const { text } = await visit('/@lighthouse');

  assertExcludes(text, '<img src=x');
  assertIncludes(text, '<h3>Title</h3>');
  assertIncludes(text, '<a href="https://example.org/a" rel="nofollow ugc noopener">good</a>');
  assert.not.match(text, /href="javascript|src="https:\/\/example.org/);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the mark of slots.
  assert.not.match(text, /\u0001/);
  assert.match(text, /<title>&lt;IMG SRC=X ONERROR=ALERT\(1\)&gt;VOTES · Night &lt;market&gt;<\/title>/);
});

test('the foot of each page has the links of the operator', async () => {
  for (const path of ['/@lighthouse', '/', '/search', '/@nothing']) {
    const { text } = await visit(path);

    assertIncludes(
      text,
      '<a href="https://list.example/p?a=b&amp;c" dir="auto">Privacy &amp; &lt;terms&gt;</a>',
    );
    assertIncludes(text, '<a href="/imprint" dir="auto">Impressum</a></footer>');
  }
});

test('the page of a text that is cut has a note, which is hidden from visitors', async () => {
  await addBot(sql, 'bot8', { type: 'pending', long: `**bold**\n\n${'[a]['.repeat(16_000)}` });

  const { text } = await visit('/@bot8');

  assertIncludes(text, '<p class="note" id="long-cut" hidden>');
  assertIncludes(text, '<strong>bold</strong>');
  assertExcludes((await visit('/@lighthouse')).text, 'id="long-cut"');
});

test('numbers are those of now, and an edit shows at once', async () => {
  const robin = await world.token('user', 'robin');
  const vote = await world.ask('PUT', '/users/robin/bots/bot1/votes?upvote=true', { token: robin });
  assert.is(vote.status, 204);
  assertIncludes((await visit('/@lighthouse')).text, '<b data-live="votes">1</b>');

  const edit = await world.ask('PATCH', '/bots/bot1/settings', {
    token: robin,
    body: { short: 'Another short text that is long enough.' },
  });
  assert.is(edit.status, 204);
  const { text } = await visit('/@lighthouse');
  assertIncludes(text, 'Another short text that is long enough.');
});

test('a listed page has previews and a canonical address, another is not to be indexed', async () => {
  const { text } = await visit('/@bot1');
  assertIncludes(text, '<link rel="canonical" href="https://list.example/@lighthouse">');
  assertIncludes(text, '<meta property="og:url" content="https://list.example/@lighthouse">');

  const pending = await visit('/@windmill');
  assertIncludes(pending.text, '<meta name="robots" content="noindex">');
  assertIncludes(pending.text, 'It waits for a review');
  assertExcludes(pending.text, 'id="vote"');
  assertExcludes((await visit('/@packs/night-owls')).text, '/@windmill');
});

test('a listing that was not accepted says why', async () => {
  await addBot(sql, 'bot3', { vanity: 'unlit', type: 'denied' });
  await sql`update bots set approval_note = 'It does not <answer>.' where bot_id = 'bot3'`;
  const { text } = await visit('/@unlit');

  assert.match(text, /It was not accepted, so it is not listed\. It does not &lt;answer&gt;\./);
});

test('a code that changes its owner leads to the new one', async () => {
  const robin = await world.token('user', 'robin');
  await visit('/@lighthouse');
  const ofTeam = await world.token('team', 'team1');
  const change = async (target: string, code: string, token: string): Promise<void> =>
    assert.is((await world.ask('PATCH', `/${target}/vanity`, { token, body: { code } })).status, 204);
  await change('bots/bot1', 'lamp', robin);
  assertIncludes((await visit('/@lighthouse')).text, 'Pack lighthouse');
  await change('teams/team1', 'lighthouse', ofTeam);

  assertIncludes((await visit('/@lighthouse')).text, 'Team team1');
  assertIncludes((await visit('/@lamp')).text, 'IMG SRC=X');
  await change('teams/team1', 'keepers', ofTeam);
  await change('bots/bot1', 'lighthouse', robin);
});

test('an invite counts and leads on; what has none is 404', async () => {
  const count = async (): Promise<number> => (await world.ask('GET', '/bots/bot1')).json.invite_clicks;
  const before = await count();
  await visit('/@lighthouse/invite', { method: 'HEAD' });
  const { status, headers } = await visit('/@lighthouse/invite');
  await until('the invite', async () => (await count()) > before);

  assert.equal([status, headers.get('location')], [302, 'https://example.org/bot1']);
  assert.is(await count(), before + 1);
  for (const path of ['/@night-owls/invite', '/@nothing/invite']) assert.is((await visit(path)).status, 404);
});

test('an invite that is no https address is text; none counts nothing', async () => {
  const setInvite = async (invite: string): Promise<string> => {
    await world.sql`update bots set invite = ${invite} where bot_id = 'bot1'`;
    world.catalogue.bots.drop('bot1');
    return (await visit('/@lighthouse')).text;
  };
  const count = async (): Promise<number> => (await world.ask('GET', '/bots/bot1')).json.invite_clicks;
  const [{ invite = '' } = {}] = await world.sql<{ invite: string }[]>`
    select invite from bots where bot_id = 'bot1'`;
  const before = await count();
  const plain = await setInvite('http://chat.example/<add>');
  const none = await setInvite(' ');
  await world.ask('GET', '/bots/bot1?target=invite');
  const linked = await setInvite(invite);
  await world.ask('GET', '/bots/bot1?target=invite');
  await until('the invite', async () => (await count()) > before);

  assert.match(plain, /<code dir="auto">http:\/\/chat\.example\/&lt;add&gt;<\/code>/);
  for (const page of [plain, none]) assert.not.match(page, /Add to a server|href="http:/);
  assert.match(linked, /Add to a server/);
  assert.is(await count(), before + 1);
});

test('an invite is found by the itag, too, as at /@{code}', async () => {
  const { vanity_ref: itag } = (await world.ask('GET', '/bots/bot1')).json;
  const other = '018f3b7e-7c1a-7d52-9d1e-2f6b1f6f7a10';
  for (const path of [
    `/@nothing/invite?itag=${itag}`,
    `/@${itag}/invite?itag=true`,
    '/@lighthouse/invite?itag=false',
  ])
    assert.is((await visit(path)).headers.get('location'), 'https://example.org/bot1', path);
  assert.is((await visit(`/@lighthouse/invite?itag=${other}`)).status, 404);
  assert.is((await visit('/@lighthouse/invite?itag=true')).status, 400);
});

test('an unknown address is a page for a browser', async () => {
  const { status, text } = await visit('/@nothing');

  assert.is(status, 404);
  assert.match(text, /There is nothing here/);
});

test('the sitemap lists what is listed, in parts; robots find it', async () => {
  const index = await visit('/sitemap.xml');
  const [, part = ''] = /<loc>https:\/\/list.example(\/sitemaps\/\d+)<\/loc>/.exec(index.text) ?? [];
  const { text } = await visit(part);
  const found = [...text.matchAll(/<loc>https:\/\/list\.example(.*?)<\/loc>/g)].map(([, path]) => path);

  const packs = ['/@packs/lighthouse', '/@packs/night-owls'];
  assert.equal(found.sort(), ['/@keepers', '/@lighthouse', ...packs, '/@server-server1']);
  assert.match((await visit('/robots.txt')).text, /Sitemap: https:\/\/list\.example\/sitemap\.xml/);
});

test('style, scripts, icon and login page are there', async () => {
  const scripts = ['listing.ts', 'account.ts', 'chart.ts', 'code.ts', 'front.ts', 'live.ts', 'login.ts'];
  for (const name of ['site.css', ...scripts]) assert.is((await visit(`/site/${name}`)).status, 200, name);
  assert.is((await visit('/site/tsconfig.json')).status, 404);
  assert.match((await visit('/site/site.css')).text, /light-dark\(#[0-9a-f]{6}, #[0-9a-f]{6}\)/);
  assert.is((await visit('/favicon.svg')).headers.get('content-type'), 'image/svg+xml');
  assert.is((await visit('/favicon.ico')).headers.get('location'), '/favicon.svg');
  assert.match((await visit('/login')).text, /login\.ts/);
});

test('the front page shows names that lead to pages, and is JSON for programs', async () => {
  const { text, headers } = await visit('/');
  assert.match(text, /Night &lt;market&gt;/);
  assertIncludes(text, 'href="/@lighthouse"');
  const policy = headers.get('content-security-policy') ?? '';
  assert.match(policy, /script-src 'self';.* img-src 'self' data: https:\/\/cdn\.example;/);
  const any = await visit('/', { headers: { accept: '*/*' } });
  assert.equal(JSON.parse(any.text).name, 'rollcall');
  assert.equal([headers.get('vary'), any.headers.get('vary')], ['Accept, User-Agent', 'Accept, User-Agent']);
});

test('without pages a browser gets what programs get', async () => {
  const settings = { ...plainSettings, sitePages: 'off' as const };
  const plain = await openWorld({ site: { ...site, settings } });
  await addUser(plain.sql, 'robin');
  await addBot(plain.sql, 'bot1', { vanity: 'lighthouse' });

  assert.is((await visit('/@lighthouse', { on: plain })).status, 302);
  assertExcludes((await visit('/', { on: plain })).text, 'href="/@');
  for (const path of ['/sitemap.xml', '/robots.txt', '/@packs/x', '/login'])
    assert.is((await visit(path, { on: plain })).status, 404, path);
  await plain.close();
});

test.run();
