/**
 * The routes of the shop against a complete Rollcall. ../operator/content.test.ts has the operator's edits.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  type CouponFields,
  type ItemFields,
  listCoupons,
  upsertBenefit,
  upsertCoupon,
  upsertItem,
} from '../../../storage/catalogue/content/shop.ts';
import { addUser } from '../../storage/catalogue/directory.ts';
import { pluck } from '../../support/pluck.ts';
import { openWorld } from './world.ts';

const test = suite('routes of the shop');

const world = await openWorld();
await addUser(world.sql, 'robin');
test.after(() => world.close());

const benefit = (id: string) => ({ id, name: `Benefit ${id}`, description: '', target_types: ['bot'] });
const item = (id: string, fields: Partial<ItemFields> = {}): ItemFields => ({
  id,
  name: `Item ${id}`,
  description: 'Something.',
  cents: '499.5',
  duration_hours: 720,
  benefits: [],
  target_types: ['bot', 'server'],
  ...fields,
});
const coupon = (id: string, fields: Partial<CouponFields> = {}): CouponFields => ({
  id,
  code: id.toUpperCase(),
  cents: '100',
  public: true,
  usable: true,
  expiry_hours: 0,
  max_uses: 0,
  reuse_wait_hours: 24,
  allowed_users: ['robin'],
  applicable_items: [],
  requirements: [],
  target_types: ['bot'],
  ...fields,
});
/** Returns a list after the snapshot from before an edit has expired. */
const list = async (path: string, wanted: (items: ReturnType<typeof JSON.parse>) => boolean) => {
  for (let attempt = 0; attempt < 200; attempt++) {
    const { status, json } = await world.ask('GET', path);
    assert.is(status, 200);
    if (wanted(json.items)) return json.items;
  }
  throw new Error(`${path} does not show the edit`);
};

test('GET of each list → 200 and empty at first, kept for two seconds', async () => {
  for (const path of ['/shop/public-coupons', '/shop/items', '/shop/item-benefits']) {
    const reply = await world.ask('GET', path);
    assert.equal([reply.status, reply.json], [200, { items: [] }]);
    assert.match(reply.headers.get('cache-control') ?? '', /max-age=2/);
    const etag = reply.headers.get('etag') ?? '';
    assert.is((await world.ask('GET', path, { headers: { 'if-none-match': etag } })).status, 304);
  }
});

test('GET /shop/item-benefits and /shop/items → 200 with people, and cents to the fraction', async () => {
  await upsertBenefit(world.sql, benefit('speed'), 'robin');
  await upsertItem(world.sql, item('month', { benefits: ['speed'] }), 'stranger');
  await upsertItem(world.sql, item('month', { benefits: ['speed'], cents: '0.25' }), null);
  const [shownBenefit] = await list('/shop/item-benefits', (items) => items.length === 1);
  const [shown] = await list('/shop/items', (items) => items[0]?.cents === 0.25);

  assert.equal([shownBenefit.id, shownBenefit.created_by.username], ['speed', 'name-of-robin']);
  assert.equal([shown.created_by.id, shown.created_by.username], ['stranger', 'stranger']);
  assert.is(shown.updated_by, null);
  assert.equal([shown.duration, shown.benefits, shown.target_types], [720, ['speed'], ['bot', 'server']]);
});

test('GET /shop/public-coupons → 200 with public, usable, unexpired ones, without their users', async () => {
  await upsertCoupon(world.sql, coupon('open', { applicable_items: ['month'] }), 'robin');
  await upsertCoupon(world.sql, coupon('fresh', { expiry_hours: 1 }), 'robin');
  await upsertCoupon(world.sql, coupon('stale', { expiry_hours: 1 }), 'robin');
  await world.sql`update shop_coupons set created_at = now() - interval '61 minutes' where id = 'stale'`;
  await upsertCoupon(world.sql, coupon('secret', { public: false }), 'robin');
  await upsertCoupon(world.sql, coupon('off', { usable: false }), 'robin');
  const shown = await list('/shop/public-coupons', (items) => items.length === 2);

  assert.equal(pluck(shown, 'id'), ['open', 'fresh']);
  assert.equal([shown[0].allowed_users, shown[0].applicable_items], [[], ['month']]);
  assert.equal([shown[0].code, shown[0].cents, shown[0].reuse_wait_duration], ['OPEN', 100, 24]);
  assert.is((await listCoupons(world.sql)).length, 5);
});

test.run();
