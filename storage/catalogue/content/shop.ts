/**
 * The shop in SQL: benefits, items that give benefits, and coupons. All of it is the operator's data.
 *
 * Money is in hundredths and may be fractional, so it is a decimal string here. An item refers to existing
 * benefits and a coupon to existing items; a row that others refer to cannot be deleted. Lists are read
 * whole: an operator writes hundreds of rows, not thousands.
 */
import type { Queryable, Sql } from '../../sql/client.ts';
import { asStorage } from '../../sql/errors.ts';
import { readColumn } from '../../sql/rows.ts';
import type { Snapshots } from '../shared/cache.ts';
import { buildPersonColumn, type PersonRow } from '../shared/people.ts';

/** The columns that every row of the shop has. `creator` and `updater` are `null` for an unknown user. */
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

/** The fields that the operator writes; the writer comes from `by` and the times from SQL's clock. */
type WrittenFields<Row extends StampedRow> = Omit<Row, Exclude<keyof StampedRow, 'id' | 'target_types'>>;
export type BenefitFields = WrittenFields<BenefitRow>;
export type ItemFields = WrittenFields<ItemRow>;
export type CouponFields = WrittenFields<CouponRow>;

export type ShopOutcome =
  | { readonly kind: 'done' }
  /** The row refers to these ids, which do not exist. */
  | { readonly kind: 'unknown'; readonly ids: readonly string[] }
  /** The row was not deleted, because the rows with these ids refer to it. */
  | { readonly kind: 'in_use'; readonly by: readonly string[] }
  /** `full`: the limit on rows of this table is reached. */
  | { readonly kind: 'not_found' | 'code_taken' | 'full' };

/** Rows in each of the tables of benefits, items and coupons. */
const shopRowsMax = 1_000;

/** All lists are in the order of creation, and the same object while their snapshot lasts. */
export const createShop = (sql: Sql, snapshots: Snapshots) => {
  const share = <Row>(name: string, list: (sql: Queryable) => Promise<readonly Row[]>) => {
    const load = () => asStorage(`shop.${name}`, async () => ({ rows: await list(sql) }));
    return () => snapshots.get(`shop ${name}`, load);
  };
  return {
    listBenefits: share('benefits', listBenefits),
    listItems: share('items', listItems),
    listPublicCoupons: share('coupons', listPublicCoupons),
  };
};

type ShopTable = 'shop_benefits' | 'shop_items' | 'shop_coupons';

const selectRows = <Row extends object>(sql: Queryable, table: ShopTable, where = sql``) => sql<Row[]>`
  select rows.*, ${buildPersonColumn(sql, 'rows.created_by')} as creator,
    ${buildPersonColumn(sql, 'rows.updated_by')} as updater
  from ${sql(table)} as rows
  ${where} order by rows.created_at, rows.id`;

/** Coupons that are public, usable and not expired. */
const listPublicCoupons = async (sql: Queryable): Promise<readonly CouponRow[]> =>
  selectRows<CouponRow>(
    sql,
    'shop_coupons',
    sql`where rows.public and rows.usable
      and (rows.expiry_hours = 0 or rows.created_at + make_interval(hours => rows.expiry_hours) > now())`,
  );

/** Lists all benefits for the operator. */
export const listBenefits = async (sql: Queryable): Promise<readonly BenefitRow[]> =>
  selectRows<BenefitRow>(sql, 'shop_benefits');

/** Lists all items for the operator. */
export const listItems = async (sql: Queryable): Promise<readonly ItemRow[]> =>
  selectRows<ItemRow>(sql, 'shop_items');

/** Lists all coupons for the operator. */
export const listCoupons = async (sql: Queryable): Promise<readonly CouponRow[]> =>
  selectRows<CouponRow>(sql, 'shop_coupons');

const done: ShopOutcome = { kind: 'done' };

const findMissingIds = (sql: Queryable, table: ShopTable, ids: readonly string[]) =>
  readColumn<string>(sql`
    select id from unnest((select ${ids as string[]}::text[])) as named(id)
    where not exists (select from ${sql(table)} as rows where rows.id = named.id)`);

/** Inserts or replaces a row; a replaced row keeps its creator and time of creation. */
const upsert = async (
  sql: Queryable,
  table: ShopTable,
  { row, by }: { row: Readonly<Record<string, unknown>>; by: string | null },
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

/** Edits of the shop run one at a time, so that references between rows stay valid; they are rare. */
const editShop = (sql: Sql, edit: (transaction: Queryable) => Promise<ShopOutcome>): Promise<ShopOutcome> =>
  sql.begin(async (transaction): Promise<ShopOutcome> => {
    await transaction`select pg_advisory_xact_lock(hashtextextended('shop', 0))`;
    return edit(transaction);
  });

/** Creates or replaces a benefit; `by` is the user who does. All edits are ledger when they resolve. */
export const upsertBenefit = (
  sql: Sql,
  fields: BenefitFields,
  by: string | null = null,
): Promise<ShopOutcome> =>
  editShop(sql, (transaction) => upsert(transaction, 'shop_benefits', { row: { ...fields }, by }));

/** Creates or replaces an item; `unknown` when it refers to benefits that do not exist. */
export const upsertItem = (sql: Sql, fields: ItemFields, by: string | null = null): Promise<ShopOutcome> =>
  editShop(sql, async (transaction) => {
    const ids = await findMissingIds(transaction, 'shop_benefits', fields.benefits);
    if (ids.length > 0) return { kind: 'unknown', ids };
    return upsert(transaction, 'shop_items', { row: { ...fields }, by });
  });

/** Creates or replaces a coupon; `unknown` when it refers to items that do not exist. */
export const upsertCoupon = (
  sql: Sql,
  fields: CouponFields,
  by: string | null = null,
): Promise<ShopOutcome> =>
  editShop(sql, async (transaction) => {
    const ids = await findMissingIds(transaction, 'shop_items', fields.applicable_items);
    if (ids.length > 0) return { kind: 'unknown', ids };
    const taken = await transaction`
      select from shop_coupons where code = ${fields.code} and id <> ${fields.id}`;
    if (taken.length > 0) return { kind: 'code_taken' };
    return upsert(transaction, 'shop_coupons', { row: { ...fields }, by });
  });

const remove = (
  sql: Sql,
  table: ShopTable,
  { id, findReferrers }: { id: string; findReferrers: FindReferrers },
): Promise<ShopOutcome> =>
  editShop(sql, async (transaction) => {
    const by = (await findReferrers(transaction, id)).map((row) => row.id);
    if (by.length > 0) return { kind: 'in_use', by };
    const deleted = await transaction`delete from ${transaction(table)} where id = ${id} returning id`;
    return deleted.length > 0 ? done : { kind: 'not_found' };
  });
type FindReferrers = (sql: Queryable, id: string) => Promise<readonly { readonly id: string }[]>;

/** Deletes a benefit; `in_use` while an item gives it. */
export const deleteBenefit = (sql: Sql, id: string): Promise<ShopOutcome> =>
  remove(sql, 'shop_benefits', {
    id,
    findReferrers: (transaction) => transaction<{ id: string }[]>`
      select id from shop_items where ${id} = any(benefits) order by id`,
  });

/** Deletes an item; `in_use` while a coupon applies to it. */
export const deleteItem = (sql: Sql, id: string): Promise<ShopOutcome> =>
  remove(sql, 'shop_items', {
    id,
    findReferrers: (transaction) => transaction<{ id: string }[]>`
      select id from shop_coupons where ${id} = any(applicable_items) order by id`,
  });

export const deleteCoupon = (sql: Sql, id: string): Promise<ShopOutcome> =>
  remove(sql, 'shop_coupons', { id, findReferrers: async () => [] });
