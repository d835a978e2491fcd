/**
 * The search against a complete Rollcall: words, parts of words, tags, kinds, orders and pages; what is not
 * listed is not found, edits show at once, and a search is bounded whatever is sought.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { escapeTag } from '../../../http/api/search.ts';
import { buildSearchIndex } from '../../../storage/sql/search-index.ts';
import { addBot, addPack, addServer, addTeam, addUser } from '../../storage/catalogue/directory.ts';
import { codeOf, openWorld } from './world.ts';

const test = suite('search');
const world = await openWorld();
const { sql } = world;
test.after(() => world.close());

await addUser(sql, 'robin');
await addTeam(sql, 'team1', 'keepers');
const names = ['Lighthouse Keeper', 'Night light', 'Маяк и море', '100%_sure', 'Copper Dice'];
for (const [index, name] of names.entries()) {
  await addUser(sql, `bot${index}`, { username: `user-of-bot${index}` });
  await sql`update users set display_name = ${name} where id = ${`bot${index}`}`;
  await addBot(sql, `bot${index}`, {
    short: index === 4 ? 'Rolls dice by the light of a candle.' : `Something else, number ${index}.`,
    counted: { upvotes: index, clicks: 100 - index },
    created_at: new Date(Date.UTC(2026, 0, index + 1)),
  });
}
await addBot(sql, 'hidden', { type: 'pending', short: 'A light that nobody sees yet.' });
await addServer(sql, 'server1', { team_id: 'team1' });
await addPack(sql, 'night-owls', { bot_ids: ['bot0'] });

const search = async (query: string): Promise<readonly string[]> => {
  const { status, json, text } = await world.ask('GET', `/search?${query}`);
  assert.is(status, 200, `${query}: ${text}`);
  return json.results.map(({ target_id }: { target_id: string }) => target_id);
};

test('GET /search → 200: words and parts of words, in names, short texts and tags', async () => {
  assert.equal(await search('q=light'), ['bot4', 'bot1', 'bot0']);
  assert.equal(await search('q=IGHTHOU'), ['bot0']);
  assert.equal(await search('q=light%20keep'), ['bot0']);
  assert.equal(await search('q=li%20ni'), ['bot1']);
  assert.equal(await search('q=маяк'), ['bot2']);
  assert.equal(await search('q=user-of-bot3'), ['bot3']);
  assert.equal(await search('q=games&kind=bot'), ['bot4', 'bot3', 'bot2', 'bot1', 'bot0']);
  assert.equal(await search('q=nothing-like-this'), []);
});

test('GET /search → 200: signs are no patterns, and are found where they stand', async () => {
  assert.equal(await search('q=100%25_'), ['bot3']);
  assert.equal(await search('q=%25'), ['bot3']);
  assert.equal(await search('q=_'), ['bot3']);
});

test('GET /search → 200: letters with two lower-case forms', async () => {
  const rename = (name: string) => sql`update users set display_name = ${name} where id = 'bot2'`;
  for (const name of ['İstanbul ΟΔΟΣ', 'istanbul οδος']) {
    await rename(name);
    for (const word of ['İstanbul', 'ISTANBUL', 'ΟΔΟΣ', 'οδος'])
      assert.equal(await search(`q=${encodeURIComponent(word)}`), ['bot2'], `${word} in ${name}`);
  }
  await rename('Маяк и море');
});

test('GET /search → 200: marks, composed and compatible forms, and words of one or two signs', async () => {
  const rename = (name: string) => sql`update users set display_name = ${name} where id = 'bot2'`;
  for (const [name, found, others] of [
    ['Pokémon Café', ['Pokemon', 'POKE\u0301MON', 'cafe', 'Ｃａｆé'], ['pokaman']],
    ['Poke\u0301mon', ['pokémon', 'pokemon'], []],
    ['日本音楽ボット', ['音楽', '楽', 'ト', '日本', '音楽ボ', 'ボット'], ['音本', '楽音', '日楽']],
    ['がぎ ﾎﾞｯﾄ', ['が', 'か\u3099', 'ボット'], ['か', 'ホ']],
    ['हिन्दी', ['हिन्दी'], ['हन्द']],
    ['한국어 봇', ['한국어', '한국어'.normalize('NFD')], ['한국아']],
    ['Straße ﬁne', ['STRASSE', 'straße', 'fine'], []],
    ['Άλφα Ёлка', ['αλφα', 'ΆΛΦΑ', 'елка', 'ЁЛКА'], []],
    ['50％＿off', ['50%_', '５０％＿'], ['5%0', '＼']],
  ] as const) {
    await rename(name);
    for (const word of found)
      assert.equal(await search(`q=${encodeURIComponent(word)}`), ['bot2'], `${word} in ${name}`);
    for (const word of others)
      assert.equal(
        (await search(`q=${encodeURIComponent(word)}`)).filter((id) => id === 'bot2'),
        [],
        `${word} in ${name}`,
      );
  }
  await rename('Маяк и море');
});

test('GET /search → 200: other scripts, and signs that are not seen', async () => {
  const rename = (name: string) => sql`update users set display_name = ${name} where id = 'bot2'`;
  for (const [name, found, others] of [
    ['บอทเพลงไทย', ['เพลง', 'ไทย', 'บอ', 'ง'], ['ไพ', 'เทย']],
    ['مُوسِيقَى عربيّة', ['موسيقى', 'مُوسِيقَى', 'عربية', 'مـوسيقى'], ['موسى']],
    ['שָׁלוֹם', ['שלום', 'שָׁלוֹם'], []],
    ['संगीत बॉट', ['संगीत', 'बॉट', 'संग'], ['बाट']],
    ['음악 봇'.normalize('NFD'), ['음악', '음악'.normalize('NFD'), '봇', '음'], ['악음']],
    ['Tiếng Việt'.normalize('NFD'), ['tieng', 'TIẾNG', 'viet', 'việt'.normalize('NFD')], []],
    ['IŞIK İzmir', ['ışık', 'ISIK', 'izmir', 'İZMİR', 'ızmır'], []],
    ['STRAẞE ǅungla', ['strasse', 'straße', 'ǆungla', 'dz'], []],
    ['ΣΊΣΥΦΟΣ', ['σίσυφος', 'σισυφοσ', 'ΣΙΣΥΦΟΣ'], []],
    ['Ｆｕｌｌ １２３', ['full', '123', 'ｆＵｌｌ'], []],
    ['👩‍💻 ❤️ bot', ['👩‍💻', '❤', '❤️', '💻', '👩'], ['💔']],
    ['e\u00ADmo\u200Bji', ['emoji', 'emo\u2060ji'], []],
    ['ŒUVRE ŉ ŁÓDŹ', ['œuvre', 'łodz', 'ŁÓDŹ'], []],
    [
      `it's "100%" \\o/ a_b`,
      [`it's`, `"100%"`, '\\o/', 'a_b', '\\', '"', "'", '0%"'],
      ['a%b', '1_0', '/o\\'],
    ],
  ] as const) {
    await rename(name);
    for (const word of found)
      assert.equal(await search(`q=${encodeURIComponent(word)}`), ['bot2'], `${word} in ${name}`);
    for (const word of others)
      assert.equal(await search(`q=${encodeURIComponent(word)}&kind=bot`), [], `${word} in ${name}`);
  }
  await rename('Маяк и море');
  const all = await search('');
  for (const blank of ['%20', '%E3%80%80', '%E2%80%8D', '%C2%AD%20%EF%B8%8F'])
    assert.equal(await search(`q=${blank}`), all, blank);
  for (const marks of ['%CC%81', '%CC%81%CC%81%20%D9%8B%CC%88', '%EF%BF%BD'])
    assert.equal(await search(`q=a%20${marks}`), [], marks);
  assert.equal(await search(`q=${'x'.repeat(100)}`), []);
  assert.equal(codeOf(await world.ask('GET', `/search?q=${'x'.repeat(101)}`)), [400, 'validation_failed']);
});

test('capitals of all scripts are folded by the schema', async () => {
  const names = ['ПРИВЕТ', 'Привет', 'ÉÀÇ', '日本', 'ⰀⰀ'];
  for (const name of names) {
    const [row] = await sql<{ folded: string }[]>`select fold_case(${name}) as folded`;
    assert.is(row?.folded, name.toLowerCase());
  }
});

test('GET /search → 200: one wrong letter in a word of five, where nothing else is found', async () => {
  const near = async (query: string) => {
    const { json } = await world.ask('GET', `/search?${query}`);
    return [json.instead, json.results.map(({ target_id }: { target_id: string }) => target_id)];
  };
  const to = (word: string, shown: string) => ({ word, shown });
  for (const [query, word, shown, found] of [
    ['lighthoues', 'lighthoues', 'lighthouse', ['bot0']],
    ['ligthhouse', 'ligthhouse', 'lighthouse', ['bot0']],
    ['ilghthouse', 'ilghthouse', 'lighthouse', ['bot0']],
    ['LIGHHOUSE', 'lighhouse', 'lighthouse', ['bot0']],
    ['lllighthouse', null, null, []],
    ['llighthouse', 'llighthouse', 'lighthouse', ['bot0']],
    ['lighthouze', 'lighthouze', 'lighthouse', ['bot0']],
    ['kxeeper light', 'kxeeper', 'keeper', ['bot0']],
    ['light keepre', 'keepre', 'keeper', ['bot0']],
    ['ligth keepre', null, null, []],
    ['coper', 'coper', 'copper', ['bot4']],
    ['copprr', 'copprr', 'copper', ['bot4']],
    ['gmaes kinds', null, null, []],
    ['gmaes&kind=team', null, null, []],
    ['tean1', null, null, []],
    ['user-of-bto3', null, null, []],
    ['uesr-of-bot3', null, null, []],
    ['дисе', null, null, []],
    ['море маяко', 'маяко', 'маяк', ['bot2']],
    ['сомореа', null, null, []],
    ['cnadle', 'cnadle', 'candle', ['bot4']],
    ['cand1e', null, null, []],
    ['%25ighthouse_', null, null, []],
    ['night-lihgt', null, null, []],
  ] as const)
    assert.equal(
      await near(`q=${query}${query.includes('kind=') ? '' : '&kind=bot'}`),
      [word === null ? null : to(word, shown), found],
      query,
    );
  assert.equal((await near('q=lantren'))[0], null);
  assert.equal(await near('q=gmaes&kind=bot&page=2'), [to('gmaes', 'games'), []]);
  assert.equal((await near('q=gmaes&kind=bot'))[1].length, 5);
  assert.equal((await near('q=light'))[0], null);
  const headers = { accept: 'text/html', 'x-forwarded-for': '192.0.2.7' };
  const page = await fetch(`http://127.0.0.1:${world.port}/search?q=gmaes&kind=bot`, { headers });
  const text = await page.text();
  assert.match(text, /Nothing has exactly <b dir="auto">gmaes<\/b>; shown: <b dir="auto">games<\/b>\./);
});

test('GET /search → 200: kinds, tags and orders', async () => {
  assert.equal(await search('kind=server'), ['server1']);
  assert.equal(await search('kind=team'), ['team1']);
  assert.equal(await search('tags=fun&kind=pack'), ['night-owls']);
  assert.equal(await search('tags=fun,games&q=dice'), ['bot4']);
  assert.equal(await search('tags=fun,nothing'), []);
  assert.equal(await search('q=light&sort=clicks'), ['bot0', 'bot1', 'bot4']);
  assert.equal(await search('q=light&sort=new'), ['bot4', 'bot1', 'bot0']);
  assert.equal(await search('q=light&sort=name'), ['bot4', 'bot0', 'bot1']);
  assert.equal(await search('q=light&sort=growth'), ['bot4', 'bot1', 'bot0']);
});

test('sort=growth: the board first, then votes, with words and without', async () => {
  await sql`
    insert into board_editions (board, kind, edition, incarnations, scores, ratios, day)
    select 'growth-week', 'bot', 1, array_agg(incarnation order by entity_id), '{9, 8}', '{1, 1}', 1
    from totals where entity_id in ('bot0', 'bot3')`;
  await world.catalogue.boards.refresh();
  const all = ['bot0', 'bot3', 'bot4', 'bot2', 'bot1'];
  for (const query of ['kind=bot', 'kind=bot&q=games', 'tags=games'])
    assert.equal(await search(`${query}&sort=growth`), all, query);
  assert.equal((await search('sort=growth')).slice(0, 3), ['bot0', 'bot3', 'bot4']);
  assert.equal(await search('kind=team&sort=growth'), ['team1']);
});

test('pages neither skip nor repeat listings that are equal in their order', async () => {
  const created_at = new Date(Date.UTC(2026, 5, 1));
  for (let number = 0; number < 30; number++)
    await addBot(sql, `tied${99 - number}`, { created_at, counted: { upvotes: 5, clicks: 5 } });
  for (const sort of ['votes', 'clicks', 'growth', 'new', 'name']) {
    const found: string[] = [];
    for (const page of [1, 2]) found.push(...(await search(`q=tied&sort=${sort}&page=${page}`)));
    assert.equal([found.length, new Set(found).size], [30, 30], sort);
  }
});

test('GET /search → 200 with all that a list shows', async () => {
  const { json } = await world.ask('GET', '/search?q=lighthouse');

  assert.equal([json.count, json.count_is, json.per_page], [1, 'exact', 25]);
  const { created_at, ...found } = json.results[0];
  assert.equal(found, {
    target_type: 'bot',
    target_id: 'bot0',
    vanity: 'bot-bot0',
    name: 'Lighthouse Keeper',
    avatar: 'https://a.example/bot0',
    short: 'Something else, number 0.',
    tags: ['fun', 'games'],
    nsfw: false,
    votes: 0,
    clicks: 100,
    servers: 0,
    total_members: null,
  });
  assert.is(created_at, '2026-01-01T00:00:00.000Z');
});

test('a count is exact where it is all, with words and without', async () => {
  const count = async (query: string) => {
    const { json } = await world.ask('GET', `/search?${query}`);
    return [json.count, json.count_is, json.results.length];
  };
  const [all] = await sql<{ count: number }[]>`select count(*)::int as count from search_entries`;

  assert.equal(await count('kind=team'), [1, 'exact', 1]);
  assert.equal(await count('kind=server&sort=name&page=11'), [1, 'exact', 0]);
  assert.equal(await count('q=tied&page=2'), [30, 'exact', 5]);
  assert.equal(await count('page=2'), [all?.count, 'exact', (all?.count ?? 0) - 25]);
  assert.equal(await count('q=%25&kind=bot'), [1, 'at_least', 1]);
  assert.equal((await count('q=tied'))[1], 'at_least');
});

test('a tag with a comma is found by the escaped comma', async () => {
  await addBot(sql, 'comma');
  await sql`update bots set tags = '{"music, live",fun}' where bot_id = 'comma'`;

  assert.equal(await search(`tags=${encodeURIComponent('music\\, live')}`), ['comma']);
  assert.equal(await search(`tags=${encodeURIComponent('fun, music\\, live')}`), ['comma']);
  assert.equal(await search('tags=music,live'), []);
  await sql`update bots set type = 'denied' where bot_id = 'comma'`;
});

test('a tag with blanks at its ends is found by escaped blanks, and by the link of its listing', async () => {
  for (const [index, [tag, escaped]] of (
    [
      [' fun', '\\ fun'],
      ['fun\u3000', 'fun\\\u3000'],
      ['  a, b  ', '\\  a\\, b \\ '],
      ['a\\ b', 'a\\\\ b'],
      ['mini games', 'mini games'],
    ] as const
  ).entries()) {
    const id = `blanks${index}`;
    await addBot(sql, id);
    await sql`update bots set tags = ${['other', tag]} where bot_id = ${id}`;

    assert.is(escapeTag(tag), escaped);
    assert.equal(await search(`tags=${encodeURIComponent(`other , ${escaped} `)}`), [id], escaped);
    await sql`update bots set type = 'denied' where bot_id = ${id}`;
  }
});

test('GET /search → 400 for too many words or tags, an unknown order or kind, a bad page', async () => {
  for (const query of ['q=a%20b%20c%20d%20e%20f%20g%20h%20i', 'tags=a,b,c,d,e,f', 'sort=best', 'kind=user'])
    assert.equal(codeOf(await world.ask('GET', `/search?${query}`)), [400, 'validation_failed'], query);
  assert.equal(codeOf(await world.ask('GET', '/search?page=0')), [400, 'page_invalid']);
});

test('an edit, a denial and a deletion show at once', async () => {
  const robin = await world.token('user', 'robin');
  const body = { short: 'Now this bot tells stories about whales.' };
  assert.is((await world.ask('PATCH', '/bots/bot1/settings', { token: robin, body })).status, 204);
  assert.equal(await search('q=whales'), ['bot1']);
  await sql`update bots set type = 'denied' where bot_id = 'bot1'`;
  assert.equal(await search('q=whales&page=1'), []);
  await sql`update bots set type = 'approved' where bot_id = 'bot1'`;
  assert.equal(await search('q=whales&kind=bot'), ['bot1']);
  await sql`update users set display_name = 'Orca' where id = 'bot1'`;
  assert.equal(await search('q=orca'), ['bot1']);
  assert.is((await world.ask('DELETE', '/bots/bot1', { token: robin })).status, 204);
  assert.equal(await search('q=orca&kind=bot'), []);
});

test('pages neither skip nor repeat, for common words and for rare ones', async () => {
  await sql.begin(async (transaction) => {
    for (let number = 0; number < 2_200; number++)
      await addBot(transaction as never, `many${number}`, {
        short: number % 70 === 0 ? 'A common and rare thing of this test.' : 'A common thing of this test.',
        counted: { upvotes: 10 + number },
      });
  });
  for (const [word, expected] of [
    ['common', 75],
    ['rare', 32],
  ] as const) {
    const found: string[] = [];
    for (const page of [1, 2, 3]) found.push(...(await search(`q=${word}&page=${page}`)));
    assert.is(new Set(found).size, expected, word);
    const places = found.map((id) => Number(id.slice(4)));
    assert.equal(
      places,
      [...places].sort((one, other) => other - one),
      word,
    );
  }
  for (const query of ['q=common', '', 'page=10', 'page=11']) {
    const { json } = await world.ask('GET', `/search?${query}`);
    assert.equal([json.count_is, json.results.length], ['at_least', query === 'page=11' ? 0 : 25], query);
  }
});

test('words and parts of words are looked up in their index', async () => {
  const countScans = async (): Promise<number> => {
    await sql`select pg_stat_force_next_flush()`;
    const [index] = await sql<{ idx_scan: string }[]>`
      select idx_scan from pg_stat_user_indexes where indexrelname = 'search_words'`;
    return Number(index?.idx_scan);
  };
  // The planner then takes any index that it can use, as it does in a large directory.
  await sql`set enable_seqscan = off`;
  for (const query of ['q=looked+up', 'q=dex&tags=fun']) {
    const before = await countScans();
    await search(query);
    assert.ok((await countScans()) > before, `${query}: ${before} scans, and no more`);
  }
  await sql`reset enable_seqscan`;
});

test('no index, no search; it is built again, also where a build was interrupted', async () => {
  await sql`drop index search_words`;
  const fresh = await openWorld();
  await fresh.sql`update pg_index set indisvalid = false where indexrelid = 'search_words'::regclass`;
  const refused = await fresh.ask('GET', '/search?q=light');
  assert.equal(codeOf(refused), [503, 'search_unavailable']);
  assert.is(refused.json.context.outcome, 'not_applied');
  assert.is(await buildSearchIndex(fresh.sql), true);
  await fresh.close();

  assert.is(await buildSearchIndex(sql), true);
  assert.is(await buildSearchIndex(sql), false);
  assert.equal(await search('q=lighthouse&sort=new'), ['bot0']);
  assert.equal(await search('q=common&kind=bot&sort=name&page=2').then(({ length }) => length), 25);
});

test.run();
