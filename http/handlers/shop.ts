/**
 * Shows the shop. Lists are snapshots, serialised once. The users who may use a coupon are not shown.
 */
import type { BenefitRow, CouponRow, ItemRow } from '../../storage/catalogue/content/shop.ts';
import type { App, Reply } from '../route.ts';
import type { Coupon, Coupons, ItemBenefit, ItemBenefits, Items, ShopItem } from '../schema/shop.ts';
import { toTimestamp, toUser } from './convert.ts';
import { replySnapshot } from './lists.ts';

const toUserOrNull = (id: string | null, row: BenefitRow['creator']) =>
  id === null ? null : toUser(row, { id, bot: false });

const toSharedFields = (row: BenefitRow | ItemRow | CouponRow) => ({
  created_at: toTimestamp(row.created_at),
  created_by: toUserOrNull(row.created_by, row.creator),
  id: row.id,
  last_updated: toTimestamp(row.last_updated),
  target_types: [...row.target_types],
  updated_by: toUserOrNull(row.updated_by, row.updater),
});

const toBenefit = (row: BenefitRow): ItemBenefit => ({
  ...toSharedFields(row),
  description: row.description,
  name: row.name,
});

const toItem = (row: ItemRow): ShopItem => ({
  ...toSharedFields(row),
  benefits: [...row.benefits],
  cents: Number(row.cents),
  description: row.description,
  duration: row.duration_hours,
  name: row.name,
});

const toCoupon = (row: CouponRow): Coupon => ({
  ...toSharedFields(row),
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
  const list = await app.catalogue.shop.listPublicCoupons();
  return replySnapshot(list, (): Coupons => ({ items: list.rows.map(toCoupon) }));
};

/** `GET /shop/items`. */
export const showItems = async (app: App): Promise<Reply> => {
  const list = await app.catalogue.shop.listItems();
  return replySnapshot(list, (): Items => ({ items: list.rows.map(toItem) }));
};

/** `GET /shop/item-benefits`. */
export const showBenefits = async (app: App): Promise<Reply> => {
  const list = await app.catalogue.shop.listBenefits();
  return replySnapshot(list, (): ItemBenefits => ({ items: list.rows.map(toBenefit) }));
};
