/**
 * The shop in SQL: benefits, items that give them, coupons. All of it is the operator's data.
 *
 * Money is hundredths and may be fractional, so it is a decimal string here. An item names existing benefits
 * and a coupon existing items; what is still named cannot be deleted. Lists are read whole: an operator
 * writes hundreds of rows, not thousands. Called by catalogue.ts and by the operator's side.
 */
import type { Queryable, Sql } from '../../sql/client.ts';
import { asStorage } from '../../sql/errors.ts';
import type { Snapshots } from '../shared/cache.ts';
import { buildPersonColumn, type PersonRow } from '../shared/people.ts';

/** What every row of the shop has. Ids of people may be unknown or null. */
interface StampedRow {
  readonly id: string;
  readonly target_types: readonly string[];
  readonly created_at: Date;
  readonly last_updated: Date;
  readonly created_by: string | null;
  readonly updated_by: string | null;
  readonly creator: PersonRow | null;
  readonly updater: PersonRow | null;
}
export interface BenefitRow extends StampedRow {
  readonly name: string;
  readonly description: string;
}
export interface ItemRow extends StampedRow {
  readonly name: string;
  readonly description: string;
  readonly cents: string;
  readonly duration_hours: number;
  readonly benefits: readonly string[];
}
export interface CouponRow extends StampedRow {
  readonly code: string;
  readonly cents: string;
  readonly public: boolean;
  readonly usable: boolean;
  readonly expiry_hours: number;
  readonly max_uses: number;
  readonly reuse_wait_hours: number;
  readonly allowed_users: readonly string[];
  readonly applicable_items: readonly string[];
  readonly requirements: readonly string[];
}

/** Written by hand; people and times are added by `by` and the clock of SQL. */
type WrittenFields<Row extends StampedRow> = Omit<
  Row,
  'created_at' | 'last_updated' | 'created_by' | 'updated_by' | 'creator' | 'updater'
>;
export type BenefitFields = WrittenFields<BenefitRow>;
export type ItemFields = WrittenFields<ItemRow>;
export type CouponFields = WrittenFields<CouponRow>;

export type ShopOutcome =
  | { readonly kind: 'done' }
  /** Ids named that do not exist. */
  | { readonly kind: 'unknown'; readonly ids: readonly string[] }
  /** Ids of the rows that still name it. */
  | { readonly kind: 'in_use'; readonly by: readonly string[] }
  /** `full`: there are as many as there may be. */
  | { readonly kind: 'not_found' | 'code_taken' | 'full' };

/** Benefits, items and coupons, each. */
const shopRowsMax = 1_000;

/** Rows of one list; the object lives as long as the snapshot. */
export interface ShopList<Row> {
  readonly rows: readonly Row[];
}
export interface Shop {
  /** In the order of creation; at most as old as any list. */
  listBenefits(): Promise<ShopList<BenefitRow>>;
  listItems(): Promise<ShopList<ItemRow>>;
  /** Public, usable and not expired. */
  listPublicCoupons(): Promise<ShopList<CouponRow>>;
}

export const createShop = (sql: Sql, snapshots: Snapshots): Shop => ({
  listBenefits: () =>
    snapshots.get('shop benefits', () => asStorage('shop.benefits', () => readBenefits(sql))),
  listItems: () => snapshots.get('shop items', () => asStorage('shop.items', () => readItems(sql))),
  listPublicCoupons: () =>
    snapshots.get('shop coupons', () => asStorage('shop.coupons', () => readCoupons(sql))),
});

type ShopTable = 'shop_benefits' | 'shop_items' | 'shop_coupons';

const selectRows = <Row extends object>(sql: Queryable, table: ShopTable, where = sql``) => sql<Row[]>`
  select rows.*, ${buildPersonColumn(sql, 'creators')} as creator,
    ${buildPersonColumn(sql, 'updaters')} as updater
  from ${sql(table)} as rows
  left join users as creators on creators.id = rows.created_by
  left join users as updaters on updaters.id = rows.updated_by
  ${where} order by rows.created_at, rows.id`;

const readBenefits = async (sql: Queryable): Promise<ShopList<BenefitRow>> => ({
  rows: await selectRows<BenefitRow>(sql, 'shop_benefits'),
});
const readItems = async (sql: Queryable): Promise<ShopList<ItemRow>> => ({
  rows: await selectRows<ItemRow>(sql, 'shop_items'),
});
const readCoupons = async (sql: Queryable): Promise<ShopList<CouponRow>> => ({
  rows: await selectRows<CouponRow>(
    sql,
    'shop_coupons',
    sql`where rows.public and rows.usable
      and (rows.expiry_hours = 0 or rows.created_at + make_interval(hours => rows.expiry_hours) > now())`,
  ),
});

/** All coupons, for the operator. */
export const listCoupons = async (sql: Queryable): Promise<readonly CouponRow[]> =>
  selectRows<CouponRow>(sql, 'shop_coupons');

const done: ShopOutcome = { kind: 'done' };

const findUnknownIds = async (
  sql: Queryable,
  table: ShopTable,
  ids: readonly string[],
): Promise<readonly string[]> => {
  const rows = await sql<{ id: string }[]>`
    select id from unnest(${ids as string[]}::text[]) as named(id)
    where not exists (select from ${sql(table)} as rows where rows.id = named.id)`;
  return rows.map((row) => row.id);
};

/** Writes a row whole. Who made it and when stays as it was. */
const upsert = async (
  sql: Queryable,
  table: ShopTable,
  { row, by }: { readonly row: Readonly<Record<string, unknown>>; readonly by: string | null },
): Promise<ShopOutcome> => {
  const { id, ...change }: Record<string, unknown> = { ...row, updated_by: by };
  const [others] = await sql<{ count: number }[]>`
    select count(*) from ${sql(table)} where id <> ${String(id)}`;
  if (others !== undefined && others.count >= shopRowsMax) return { kind: 'full' };
  await sql`
    insert into ${sql(table)} ${sql({ ...row, created_by: by, updated_by: by })}
    on conflict (id) do update set ${sql(change)}, last_updated = now()`;
  return done;
};

/** Makes a benefit, or changes it whole. Ledger when it resolves, as all that follow. */
export const upsertBenefit = (sql: Sql, fields: BenefitFields, by: string | null): Promise<ShopOutcome> =>
  sql.begin(async (transaction): Promise<ShopOutcome> => {
    await lockShop(transaction);
    return upsert(transaction, 'shop_benefits', { row: { ...fields }, by });
  });

export const upsertItem = (sql: Sql, fields: ItemFields, by: string | null): Promise<ShopOutcome> =>
  sql.begin(async (transaction): Promise<ShopOutcome> => {
    await lockShop(transaction);
    const ids = await findUnknownIds(transaction, 'shop_benefits', fields.benefits);
    if (ids.length > 0) return { kind: 'unknown', ids };
    return upsert(transaction, 'shop_items', { row: { ...fields }, by });
  });

export const upsertCoupon = (sql: Sql, fields: CouponFields, by: string | null): Promise<ShopOutcome> =>
  sql.begin(async (transaction): Promise<ShopOutcome> => {
    await lockShop(transaction);
    const ids = await findUnknownIds(transaction, 'shop_items', fields.applicable_items);
    if (ids.length > 0) return { kind: 'unknown', ids };
    const taken = await transaction`
      select from shop_coupons where code = ${fields.code} and id <> ${fields.id}`;
    if (taken.length > 0) return { kind: 'code_taken' };
    return upsert(transaction, 'shop_coupons', { row: { ...fields }, by });
  });

/** Edits of the shop are rare: one at a time keeps what rows name of each other right. */
const lockShop = async (transaction: Queryable): Promise<void> => {
  await transaction`select pg_advisory_xact_lock(hashtextextended('shop', 0))`;
};

const remove = (
  sql: Sql,
  table: ShopTable,
  { id, users }: { id: string; users: FindUsers },
): Promise<ShopOutcome> =>
  sql.begin(async (transaction): Promise<ShopOutcome> => {
    await lockShop(transaction);
    const by = (await users(transaction, id)).map((row) => row.id);
    if (by.length > 0) return { kind: 'in_use', by };
    const gone = await transaction`delete from ${transaction(table)} where id = ${id} returning id`;
    return gone.length > 0 ? done : { kind: 'not_found' };
  });
type FindUsers = (sql: Queryable, id: string) => Promise<readonly { readonly id: string }[]>;

/** `in_use` while an item gives it. */
export const deleteBenefit = (sql: Sql, id: string): Promise<ShopOutcome> =>
  remove(sql, 'shop_benefits', {
    id,
    users: (transaction) => transaction<{ id: string }[]>`
      select id from shop_items where ${id} = any(benefits) order by id`,
  });

/** `in_use` while a coupon is for it. */
export const deleteItem = (sql: Sql, id: string): Promise<ShopOutcome> =>
  remove(sql, 'shop_items', {
    id,
    users: (transaction) => transaction<{ id: string }[]>`
      select id from shop_coupons where ${id} = any(applicable_items) order by id`,
  });

export const deleteCoupon = (sql: Sql, id: string): Promise<ShopOutcome> =>
  remove(sql, 'shop_coupons', { id, users: async () => [] });
