/**
 * The shop in SQL: benefits, items that give benefits, and coupons. All of it is the operator's data.
 *
 * Money is in hundredths and may be fractional, so it is a decimal string here. An item refers to existing
 * benefits and a coupon to existing items; a row that others refer to cannot be deleted. Lists are read
 * whole: an operator writes hundreds of rows, not thousands.
 */
import type { Queryable, Sql } from '../../sql/client.ts';
import { asStorage, bindStorage } from '../../sql/errors.ts';
import { hasRow, readColumn, readNumber } from '../../sql/rows.ts';
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

type ShopTable = 'shop_benefits' | 'shop_items' | 'shop_coupons';

/** The columns that have ids of rows of another table. */
const references = [
  { from: 'shop_items', column: 'benefits', to: 'shop_benefits' },
  { from: 'shop_coupons', column: 'applicable_items', to: 'shop_items' },
] as const satisfies readonly { readonly from: ShopTable; readonly column: string; readonly to: ShopTable }[];

const createList =
  <Row extends object>(table: ShopTable, buildWhere = (sql: Queryable) => sql``) =>
  async (sql: Queryable): Promise<readonly Row[]> =>
    sql<Row[]>`
      select rows.*, ${buildPersonColumn(sql, 'rows.created_by')} as creator,
        ${buildPersonColumn(sql, 'rows.updated_by')} as updater
      from ${sql(table)} as rows
      ${buildWhere(sql)} order by rows.created_at, rows.id`;

const listBenefits = createList<BenefitRow>('shop_benefits');
const listItems = createList<ItemRow>('shop_items');
export const listCoupons = createList<CouponRow>('shop_coupons');
/** Lists the coupons that are public, usable and not expired. */
const listPublicCoupons = createList<CouponRow>(
  'shop_coupons',
  (sql) => sql`where rows.public and rows.usable
    and (rows.expiry_hours = 0 or rows.created_at + make_interval(hours => rows.expiry_hours) > now())`,
);

const done: ShopOutcome = { kind: 'done' };

const findMissingIds = (sql: Queryable, table: ShopTable, ids: readonly string[]) =>
  readColumn<string>(sql`
    select id from unnest((select ${ids as string[]}::text[])) as named(id)
    where not exists (select from ${sql(table)} as rows where rows.id = named.id)`);

/** A row as the operator writes it, whatever its table is. */
type WrittenRow = Pick<CouponRow, 'id'> &
  Partial<Pick<CouponRow, 'code' | 'applicable_items'> & Pick<ItemRow, 'benefits'>>;

/** Finds why the row cannot be written; `null` if it can. */
const findFault = async (sql: Queryable, table: ShopTable, row: WrittenRow): Promise<ShopOutcome | null> => {
  for (const { from, column, to } of references) {
    const ids = from === table ? await findMissingIds(sql, to, row[column] ?? []) : [];
    if (ids.length > 0) return { kind: 'unknown', ids };
  }
  const { id, code = null } = row;
  if (code !== null && (await hasRow(sql`select from shop_coupons where code = ${code} and id <> ${id}`)))
    return { kind: 'code_taken' };
  const others = await readNumber(sql`select count(*) from ${sql(table)} where id <> ${id}`);
  return others >= shopRowsMax ? { kind: 'full' } : null;
};

/** Edits of the shop run one at a time, so that references between rows stay valid; they are rare. */
const editShop = (sql: Sql, edit: (transaction: Queryable) => Promise<ShopOutcome>): Promise<ShopOutcome> =>
  sql.begin(async (transaction): Promise<ShopOutcome> => {
    await transaction`select pg_advisory_xact_lock(hashtextextended('shop', 0))`;
    return edit(transaction);
  });

/**
 * Creates an edit that creates or replaces a row; `by` is the user who does. A replaced row keeps its creator
 * and time of creation. All edits are ledger when they resolve.
 */
const createUpsert =
  <Fields extends WrittenRow>(table: ShopTable) =>
  (sql: Sql, fields: Fields, by: string | null = null): Promise<ShopOutcome> =>
    editShop(sql, async (transaction) => {
      const fault = await findFault(transaction, table, fields);
      if (fault !== null) return fault;
      const row: Record<string, unknown> = { ...fields, updated_by: by };
      const { id, ...change } = row;
      await transaction`
        insert into ${transaction(table)} ${transaction({ ...row, created_by: by })}
        on conflict (id) do update set ${transaction(change)}, last_updated = now()`;
      return done;
    });

export const upsertBenefit = createUpsert<BenefitFields>('shop_benefits');
export const upsertItem = createUpsert<ItemFields>('shop_items');
export const upsertCoupon = createUpsert<CouponFields>('shop_coupons');

/** Creates an edit that deletes a row; `in_use` while rows of another table refer to it. */
const createDeletion =
  (table: ShopTable) =>
  (sql: Sql, id: string): Promise<ShopOutcome> =>
    editShop(sql, async (transaction) => {
      for (const { from, column } of references.filter(({ to }) => to === table)) {
        const by = await readColumn<string>(transaction`
          select id from ${transaction(from)} where ${id} = any(${transaction(column)}) order by id`);
        if (by.length > 0) return { kind: 'in_use', by };
      }
      const isDeleted = await hasRow(transaction`
        delete from ${transaction(table)} where id = ${id} returning id`);
      return isDeleted ? done : { kind: 'not_found' };
    });

/** Creates the public lists: in the order of creation, and the same object while their snapshot lasts. */
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

/** What operators read and change. */
export const createShopEdits = (sql: Sql) =>
  bindStorage('shop', sql, {
    listBenefits,
    upsertBenefit,
    deleteBenefit: createDeletion('shop_benefits'),
    listItems,
    upsertItem,
    deleteItem: createDeletion('shop_items'),
    listCoupons,
    upsertCoupon,
    deleteCoupon: createDeletion('shop_coupons'),
  });
