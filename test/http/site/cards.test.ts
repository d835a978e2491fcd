/**
 * The pictures of previews: which page names which, what a card shows of a name that its font lacks, and that
 * each is drawn once, one at a time, from a bounded queue.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { noteCards } from '../../../http/site/card-routes.ts';
import { createCards, openDrawThread } from '../../../http/site/cards/cards.ts';
import { renderCard } from '../../../http/site/cards/draw.ts';
import { createCounts } from '../../../http/telemetry/counts.ts';
import { addBot, addPack, addServer, addTeam, addUser } from '../../storage/catalogue/directory.ts';
import { assertExcludes, assertIncludes } from '../../support/assert-includes.ts';
import { assertNoNote, assertNote } from '../../support/notes.ts';
import { openWorld } from '../api/world.ts';
import { plainSettings } from '../plain-site.ts';

const test = suite('cards');
const world = await openWorld({ site: { settings: plainSettings, readUrl: () => 'https://list.example' } });
const { sql } = world;
test.after(() => world.close());
await addUser(sql, 'robin');
await addUser(sql, 'bot2', { username: 'painted' });
await sql`update users set avatar = 'https://cdn.example/2.png' where id = 'bot2'`;
await addBot(sql, 'bot1', { vanity: 'lighthouse' });
await addBot(sql, 'bot2', { vanity: 'windmill' });
await addBot(sql, 'bot3', { vanity: 'hidden', type: 'pending' });
await addTeam(sql, 'team1', 'keepers');
await addServer(sql, 'server1', { team_id: 'team1' });
await addPack(sql, 'night-owls', { bot_ids: ['bot1'] });

const look = { siteName: 'Rollcall', accent: '#1f5fbf' };
const found = openDrawThread();
assert.ok(found, 'npm install brings @resvg/resvg-js');
const drawPicture = found as NonNullable<typeof found>;

const load = (path: string, accept = 'text/html') =>
  fetch(`http://127.0.0.1:${world.port}${path}`, { headers: { accept } });

const readPreview = async (path: string) => {
  const text = await (await load(path)).text();
  const [, image = ''] = /<meta property="og:image" content="([^"]*)">/.exec(text) ?? [];
  const [, card = ''] = /<meta name="twitter:card" content="([^"]*)">/.exec(text) ?? [];
  return { image, card, title: /<meta property="og:title"/.test(text) };
};

const assertPicture = async (address: string): Promise<void> => {
  assert.is(new URL(address).origin, 'https://list.example');
  const reply = await load(address.slice('https://list.example'.length), '*/*');
  assert.equal([reply.status, reply.headers.get('content-type')], [200, 'image/png'], address);
  const bytes = Buffer.from(await reply.arrayBuffer());
  assert.is(bytes.toString('latin1', 1, 4), 'PNG');
  assert.equal([bytes.readUInt32BE(16), bytes.readUInt32BE(20)], [1_200, 630]);
};

test('each kind of page names a card, which is a picture of 1200 × 630', async () => {
  const own: readonly string[] = ['/@lighthouse', '/@server-server1', '/@keepers', '/@packs/night-owls'];
  const common = ['/', '/search', '/search?tags=fun', '/docs/behaviour', '/login', '/@nothing', '/@hidden'];
  for (const path of [...own, ...common]) {
    const { image, card, title } = await readPreview(path);

    assert.equal([card, title], ['summary_large_image', true], path);
    assert.match(
      image,
      own.includes(path) ? /\/cards\/\w+s\/[\w-]+\/card\.png\?v=/ : /\/cards\/site\.png\?v=/,
    );
    await assertPicture(image);
  }
});

test('a listing with a picture names that', async () => {
  const { image, card } = await readPreview('/@windmill');

  assert.equal([image, card], ['https://cdn.example/2.png', 'summary']);
});

test('there is no card of what is not listed', async () => {
  for (const path of ['/cards/bots/bot3/card.png', '/cards/bots/none/card.png', '/cards/users/a/card.png'])
    assert.is.not((await load(path)).status, 200, path);
});

test('a name that the font lacks leaves the letter; signs that it lacks are left out', () => {
  const characters = new Set(
    [...'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ '].map((c) => c.charCodeAt(0)),
  );
  const draw = (name: string) =>
    renderCard({ kind: 'Bot', name, short: 'What it is' }, { ...look, characters });

  assertIncludes(draw('Titan 🎉'), '>Titan</text>');
  assertIncludes(draw('<b>Titan'), '>b Titan</text>');
  assertIncludes(draw('Ti\u0337ta\u200dn'), '>Titan</text>');
  const marked = createCards(drawPicture, look);
  const edition = (name: string) => marked.findEdition({ kind: 'Bot', name, short: '' });
  for (const [name, same] of [
    [`\u0301\u0301 ${'\u200d'.repeat(1_000)}`, ''],
    [`e${'\u0302'.repeat(1_000)}`, 'e\u0302\u0302\u0302'],
  ] as const)
    assert.is(edition(name), edition(same), JSON.stringify(name.slice(0, 9)));
  const other = draw('Titan 日本');
  assertExcludes(other, 'Titan');
  assertIncludes(draw('日本ボット'), '>B</text>');
  assertExcludes(other, '日');
  assertIncludes(other, '>What it is</text>');
});

test('the shipped font has Latin, Greek and Cyrillic letters', async () => {
  const cards = createCards(drawPicture, look);
  const card = (name: string) => cards.findEdition({ kind: 'Bot', name, short: '' });

  for (const [name, other] of [
    ['Zoë Łódź', 'Zoë Łódż'],
    ['Ελληνικά', 'Ελληνικό'],
    ['Привет', 'Приветы'],
  ] as const)
    assert.is.not(card(name), card(other), name);
  assert.is(card('日本'), card('音楽'));
});

test('an edition is drawn once, one is drawn at a time, and a full queue refuses', async () => {
  let [drawn, running, most] = [0, 0, 0];
  const counted: typeof drawPicture = (svg) => {
    [drawn, running] = [drawn + 1, running + 1];
    most = Math.max(most, running);
    return drawPicture(svg).finally(() => {
      running -= 1;
    });
  };
  const cards = createCards(counted, look);
  const show = (name: string) => cards.show({ kind: 'Bot', name, short: '' });
  const same = await Promise.all([show('a'), show('a'), show('a')]);
  assert.is(same[0], await show('a'));
  assert.is(drawn, 1);

  const names = Array.from({ length: 40 }, (_, index) => `name ${index}`);
  const outcomes = await Promise.allSettled(names.map(show));
  const refused = outcomes.filter(({ status }) => status === 'rejected');
  assert.equal([most, drawn, refused.length], [1, 34, 7]);
});

test('without the add-on there is a note, and with it there is none', () => {
  const { notes } = createCounts(() => 0);
  const settings = { ...plainSettings };
  noteCards({ cards: null, settings: { ...settings, sitePages: 'off' } }, { counts: { notes } });
  assertNoNote('cards_off', notes.list());
  noteCards({ cards: null, settings }, { counts: { notes } });
  assertNote('cards_off', notes.list());
});

test.run();
