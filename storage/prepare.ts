/**
 * What every program does between opening the stores and using them.
 *
 * Owns the order: the schema first, because it has the record of the hot store that the database belongs to.
 */
import { claimDatabase, type HotOwner } from './hot-owner.ts';
import type { Sql } from './sql/client.ts';
import { migrate } from './sql/migrate.ts';

/** Brings the schema up to date and claims the database. Rejects with a message for the operator. */
export const prepareStores = async (stores: {
  readonly sql: Sql;
  /** Absent where one folder holds both stores. */
  readonly owner?: HotOwner | null;
}): Promise<void> => {
  await migrate(stores.sql);
  if (stores.owner) await claimDatabase(stores.sql, stores.owner);
};
