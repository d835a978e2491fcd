/**
 * The content that operators write (tiers, shop, blog, positions, reserved words), and what clients see of
 * it.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { addBot, addUser } from '../../storage/catalogue/directory.ts';
import { pluck } from '../../support/pluck.ts';
import { until } from '../../support/until.ts';
import { openOperated } from './world.ts';

const test = suite('operations on what is offered');
const world = await openOperated();
const { done, refused, send: operate, sql } = world;
for (const user of ['robin', 'ann']) await addUser(sql, user);
await addBot(sql, 'bot1', { counted: { upvotes: 150 } });
test.after(() => world.close());

const tier = { target_type: 'bot', position: 0, votes: 100, cents: 10 };

test('tiers put: votes are worth credits; delete: they are not; lists show both', async () => {
  const worth = async () => (await world.read('/bot/bot1/votes/credit-tiers')).total_credits;
  await done('PUT /tiers/first', tier);
  await done('PUT /tiers/second', { ...tier, position: 1, cents: 5 });
  assert.is(await worth(), 1_250);
  const { tiers } = (await operate('GET /tiers')).json;
  assert.equal(
    tiers.map((row: { id: string; votes: number }) => [row.id, row.votes]),
    [
      ['first', 100],
      ['second', 100],
    ],
  );

  await done('PUT /tiers/second', { ...tier, position: 1, cents: 2 });
  assert.is(await worth(), 1_100);
  await done('DELETE /tiers/first');
  await done('DELETE /tiers/second');
  assert.is(await worth(), 0);
  assert.equal(await refused('DELETE /tiers/first'), [404, 'not_found']);
  assert.equal(await refused('PUT /tiers/odd', { ...tier, target_type: 'team' }), [400, 'validation_failed']);
});

test('tiers put: the path names the tier, whatever else the body has', async () => {
  await done('PUT /tiers/first', tier);
  const [copy] = (await operate('GET /tiers')).json.tiers;
  await done('PUT /tiers/copy', { ...copy, position: 1, cents: 5 });

  const { tiers } = (await operate('GET /tiers')).json;
  assert.equal(
    tiers.map((row: { id: string; cents: number }) => [row.id, row.cents]),
    [
      ['first', 10],
      ['copy', 5],
    ],
  );
  await done('DELETE /tiers/first');
  await done('DELETE /tiers/copy');
});

test('benefits, items and coupons put: in the shop; what is still named cannot be deleted', async () => {
  await done('PUT /shop/benefits/speed', { name: 'Faster votes' });
  await done('PUT /shop/items/month', { name: 'A month', cents: 0.5, duration: 720, benefits: ['speed'] });
  await done('PUT /shop/coupons/spring', {
    code: 'SPRING',
    cents: 100,
    public: true,
    applicable_items: ['month'],
    target_types: ['bot'],
  });
  const shown = async (path: string) => JSON.stringify(await world.read(path));
  await until('the item', async () => (await shown('/shop/items')).includes('"month"'));
  await until('the benefit', async () => (await shown('/shop/item-benefits')).includes('"speed"'));
  await until('the coupon', async () => (await shown('/shop/public-coupons')).includes('SPRING'));

  assert.equal(await refused('DELETE /shop/benefits/speed'), [409, 'already_exists']);
  assert.equal(await refused('DELETE /shop/items/month'), [409, 'already_exists']);
  await done('DELETE /shop/coupons/spring');
  await done('DELETE /shop/items/month');
  await done('DELETE /shop/benefits/speed');
  for (const path of ['coupons/spring', 'items/month', 'benefits/speed']) {
    assert.equal(await refused(`DELETE /shop/${path}`), [404, 'not_found']);
  }
  await until('no item', async () => !(await shown('/shop/items')).includes('"month"'));
});

test('items and coupons put → 400 for unknown references, 409 for a taken code', async () => {
  const coupon = { code: 'AUTUMN', cents: 1 };
  const { json } = await operate('PUT /shop/items/odd', { name: 'Odd', cents: 1, benefits: ['none'] });
  assert.is(json.context['/benefits'], 'do not exist: none');
  assert.is((await operate('PUT /shop/coupons/odd', { ...coupon, applicable_items: ['none'] })).status, 400);
  assert.is((await operate('PUT /shop/coupons/odd', { ...coupon, target_types: ['team'] })).status, 400);
  await done('PUT /shop/coupons/one', coupon);
  assert.equal(await refused('PUT /shop/coupons/two', coupon), [409, 'already_exists']);
  const { coupons } = (await operate('GET /shop/coupons')).json;
  assert.equal([coupons.length, coupons[0].code, coupons[0].public], [1, 'AUTUMN', false]);
});

test('blog put: a draft is not shown, a published post is; delete: 404', async () => {
  const post = { title: 'Welcome', content: 'All is counted.', author: 'robin' };
  const published = async () => JSON.stringify(await world.read('/blogs/@all')).includes('welcome');
  await done('PUT /blog/welcome', { ...post, draft: true });
  assert.is((await world.ask('GET', '/blogs/welcome')).status, 404);
  assert.not(await published());
  assert.is((await operate('GET /blog')).json.posts[0].draft, true);

  assert.is((await operate('PUT /blog/welcome', { ...post, author: 'Robin Hood' })).status, 400);
  await done('PUT /blog/welcome', post);
  assert.is((await world.read('/blogs/welcome')).title, 'Welcome');
  await until('in the list', published);
  await done('DELETE /blog/welcome');
  assert.is((await world.ask('GET', '/blogs/welcome')).status, 404);
  assert.equal(await refused('DELETE /blog/welcome'), [404, 'not_found']);
});

const question = { id: 'why', question: 'Why?', short: true };

test('positions put: users can apply; applications review: decides once, with feedback', async () => {
  await done('PUT /positions/artist', { name: 'Artist', questions: [question] });
  const token = await world.token('user', 'ann');
  const apps = async () => (await world.ask('GET', '/users/ann/apps', { token })).json.apps;
  const sent = await world.ask('POST', '/users/ann/apps', {
    token,
    body: { position: 'artist', answers: { why: 'I draw owls.' } },
  });
  assert.ok(sent.status < 300, sent.text);
  const { applications, total } = (await operate('GET /applications')).json;
  const [{ app_id: id, answers }] = applications;
  assert.equal([total, answers], [1, { why: 'I draw owls.' }]);

  await done(`POST /applications/${id}/review`, { state: 'approved', feedback: 'Welcome.' });
  const [reviewed] = await apps();
  assert.equal([reviewed.state, reviewed.review_feedback], ['approved', 'Welcome.']);
  assert.equal(await refused(`POST /applications/${id}/review`, { state: 'denied' }), [
    409,
    'already_exists',
  ]);
  assert.equal((await operate('GET /applications')).json.applications, []);
  assert.is((await operate('GET /applications?state=approved')).json.total, 1);
  assert.is((await operate('POST /applications/one/review', { state: 'denied' })).status, 400);
});

test('positions put → 400 without questions; delete: gone, its applications stay', async () => {
  const token = await world.token('user', 'robin');
  await done('PUT /positions/painter', { name: 'Painter', questions: [question] });
  const body = { position: 'painter', answers: { why: 'I paint owls.' } };
  const sent = await world.ask('POST', '/users/robin/apps', { token, body });
  assert.ok(sent.status < 300, sent.text);
  assert.is((await operate('PUT /positions/none', { name: 'None', questions: [] })).status, 400);
  assert.is((await operate('PUT /positions/None', { name: 'None', questions: [question] })).status, 400);
  await done('DELETE /positions/painter');
  const { applications } = (await operate('GET /applications')).json;
  assert.equal(pluck(applications, 'position'), ['painter']);
  await done(`POST /applications/${applications[0].app_id}/review`, { state: 'denied' });
  assert.equal(await refused('DELETE /positions/painter'), [404, 'not_found']);
});

test('words add: the word cannot become a vanity code; delete: it can again', async () => {
  const token = await world.token('user', 'robin');
  const change = () => world.ask('PATCH', '/bot/bot1/vanity', { token, body: { code: 'Harbour' } });
  await done('PUT /words/HARBOUR');
  assert.equal((await operate('GET /words')).json.words, ['harbour']);
  assert.is((await change()).status, 400);
  const team = await world.ask('POST', '/teams', {
    token,
    body: { name: 'Harbour', short: 'Boats.', tags: [] },
  });
  assert.is(team.status, 201, team.text);
  assert.is((await world.ask('GET', '/vanity/harbour')).status, 404);

  await done('DELETE /words/harbour');
  assert.is((await change()).status, 204);
  assert.equal(await refused('DELETE /words/harbour'), [404, 'not_found']);
  assert.is((await operate('PUT /words/x')).status, 400);
});

test('lists are bounded: one more entry → 409 limit_reached; existing entries can be changed', async () => {
  await world.sql`
    insert into vote_credit_tiers (id, target_type, position, votes, cents)
    select 'tier-' || n, 'bot', n, 1, 1 from generate_series(1, 200) as n`;
  assert.equal(await refused('PUT /tiers/more', tier), [409, 'limit_reached']);
  await done('PUT /tiers/tier-1', tier);
  await world.sql`
    insert into shop_benefits (id, name) select 'benefit-' || n, 'n' from generate_series(1, 1000) as n`;
  assert.equal(await refused('PUT /shop/benefits/more', { name: 'More' }), [409, 'limit_reached']);
  await done('PUT /shop/benefits/benefit-1', { name: 'Less' });
  await world.sql`delete from vote_credit_tiers`;
  await world.sql`delete from shop_benefits`;
});

test.run();
