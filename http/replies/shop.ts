/**
 * The shop as clients see it. Lists are snapshots, serialised once; for whom a coupon is, nobody is told.
 */
import type { BenefitRow, CouponRow, ItemRow } from '../../storage/catalogue/shop.ts';
import type { App, Reply } from '../route.ts';
import type { Coupon, Coupons, Item, ItemBenefit, ItemBenefits, Items } from '../schema/shop.ts';
import { textOnce } from './lists.ts';
import { timestamp, userOf } from './values.ts';

const personOf = (id: string | null, row: BenefitRow['creator']) =>
  id === null ? null : userOf(row, { id, bot: false });

const stampsOf = (row: BenefitRow | ItemRow | CouponRow) => ({
  created_at: timestamp(row.created_at),
  created_by: personOf(row.created_by, row.creator),
  id: row.id,
  last_updated: timestamp(row.last_updated),
  target_types: [...row.target_types],
  updated_by: personOf(row.updated_by, row.updater),
});

const benefitOf = (row: BenefitRow): ItemBenefit => ({
  ...stampsOf(row),
  description: row.description,
  name: row.name,
});

const itemOf = (row: ItemRow): Item => ({
  ...stampsOf(row),
  benefits: [...row.benefits],
  cents: Number(row.cents),
  description: row.description,
  duration: row.duration_hours,
  name: row.name,
});

const couponOf = (row: CouponRow): Coupon => ({
  ...stampsOf(row),
  allowed_users: [],
  applicable_items: [...row.applicable_items],
  cents: Number(row.cents),
  code: row.code,
  expiry: row.expiry_hours,
  max_uses: row.max_uses,
  public: row.public,
  requirements: [...row.requirements],
  reuse_wait_duration: row.reuse_wait_hours,
  usable: row.usable,
});

/** `GET /shop/public-coupons`. */
export const showCoupons = async (app: App): Promise<Reply> => {
  const list = await app.catalogue.shop.publicCoupons();
  return textOnce(list, (): Coupons => ({ items: list.rows.map(couponOf) }));
};

/** `GET /shop/items`. */
export const showItems = async (app: App): Promise<Reply> => {
  const list = await app.catalogue.shop.items();
  return textOnce(list, (): Items => ({ items: list.rows.map(itemOf) }));
};

/** `GET /shop/item-benefits`. */
export const showBenefits = async (app: App): Promise<Reply> => {
  const list = await app.catalogue.shop.benefits();
  return textOnce(list, (): ItemBenefits => ({ items: list.rows.map(benefitOf) }));
};
