/**
 * The hot store that a Postgres database belongs to: SQL records its kind and identity, and every start
 * compares them, so that no database ever counts in two hot stores.
 *
 * A fleet's hot store is Redis, which may be replaced; an embedded one is the one folder whose identity SQL
 * has. The embedded SQL needs no record, because one folder holds both stores.
 */
import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import type { Queryable, Sql } from './sql/client.ts';
import { readColumn } from './sql/rows.ts';

export interface HotOwner {
  readonly kind: 'redis' | 'lmdb';
  /** Reads the identity of the hot store; `''` for none. */
  readonly readIdentity: () => string;
  /** Gives a hot store its identity, synced. */
  readonly writeIdentity: (identity: string) => void;
  /** Of this process: another one that claims the database later has another. */
  readonly holder: string;
}

export const createRedisOwner = (): HotOwner => ({
  kind: 'redis',
  readIdentity: () => '',
  writeIdentity: () => {},
  holder: '',
});

const identityFile = 'hot-id';

/** Creates the owner of a locked data folder. */
export const createFolderOwner = (dataDir: string): HotOwner => {
  const path = join(dataDir, identityFile);
  return {
    kind: 'lmdb',
    readIdentity: () => (existsSync(path) ? readFileSync(path, 'utf8').trim() : ''),
    writeIdentity: (identity) => writeFileSync(path, `${identity}\n`, { mode: 0o600, flush: true }),
    holder: randomBytes(8).toString('hex'),
  };
};

type OwnerRow = Pick<HotOwner, 'kind'> & { readonly identity: string };

const readRow = async (sql: Queryable): Promise<OwnerRow | undefined> =>
  (await sql<OwnerRow[]>`select kind, identity from hot_store for update`)[0];

const adoptAdvice =
  'To move a directory to other stores use "rollcall ops move". If the former hot store is lost, "rollcall ' +
  'ops adopt" says what is lost with it and goes on with the one of these settings.';

const describeOther = (kind: HotOwner['kind'], row: OwnerRow): string => {
  const here = 'Nothing was changed. The database of DATABASE_URL';
  if (kind === 'redis')
    return `${here} belongs to the embedded hot store of a DATA_DIR, but REDIS_URL is set. ${adoptAdvice}`;
  if (row.kind === 'lmdb')
    return (
      `${here} belongs to the hot store of another DATA_DIR: this one is new, was replaced, or is another ` +
      `directory's. Set DATA_DIR to its folder. ${adoptAdvice}`
    );
  return (
    `${here} was used with Redis, but REDIS_URL is not set: nodes with it would count apart from this one. ` +
    `Set REDIS_URL. ${adoptAdvice}`
  );
};

/** Gives the hot store an identity first: a kill in between leaves an identity that no database knows. */
const writeOwner = async (sql: Queryable, owner: HotOwner): Promise<void> => {
  const known = owner.readIdentity();
  const identity = known === '' && owner.kind === 'lmdb' ? randomBytes(8).toString('hex') : known;
  if (identity !== known) owner.writeIdentity(identity);
  await sql`
    insert into hot_store (kind, identity, node, holder)
    values (${owner.kind}, ${identity}, ${hostname()}, ${owner.holder})
    on conflict (single) do update set kind = excluded.kind, identity = excluded.identity,
      node = excluded.node, holder = excluded.holder, claimed_at = now()`;
};

/**
 * Claims a migrated database for this hot store. Rejects with a message for the operator, and changes
 * nothing, when it belongs to another one or when nodes of another kind use it.
 */
export const claimDatabase = (sql: Sql, owner: HotOwner): Promise<void> =>
  sql.begin(async (transaction) => {
    const row = await readRow(transaction);
    const isOurs = row?.kind === owner.kind && row.identity === owner.readIdentity();
    if (owner.kind === 'redis' && isOurs) return;
    if (!isOurs && row !== undefined) throw new Error(describeOther(owner.kind, row));
    if (owner.kind === 'lmdb') await assertNoFleet(transaction);
    await writeOwner(transaction, owner);
  }) as Promise<void>;

/** Claims it from any other hot store, whose counters are lost. Rejects while nodes use it. */
export const adoptDatabase = (sql: Sql, owner: HotOwner): Promise<void> =>
  sql.begin(async (transaction) => {
    await assertNoFleet(transaction);
    await writeOwner(transaction, owner);
  }) as Promise<void>;

/** Above the time between two heartbeats in SQL (ops/rollcall.ts). */
const aliveSeconds = 40;

/** Lists the nodes that are alive beside the one that claimed the database, and were alive after that. */
const listOthers = (sql: Queryable): Promise<readonly string[]> =>
  readColumn<string>(sql`
    select fleet.node from fleet left join hot_store on true
    where seen_at > now() - make_interval(secs => ${aliveSeconds})
      and fleet.node <> ${hostname()}
      and (hot_store.node is null or (fleet.node <> hot_store.node
        and seen_at > claimed_at + interval '1 second'))
    order by fleet.node`);

const assertNoFleet = async (sql: Queryable): Promise<void> => {
  const nodes = await listOthers(sql);
  if (nodes.length > 0) throw new Error(describeOthers(nodes));
};

const describeOthers = (nodes: readonly string[]): string =>
  `Other nodes use the database of DATABASE_URL (${nodes.join(', ')}), and without REDIS_URL only one may: ` +
  `stop them, wait ${aliveSeconds} s and start again, or set the same REDIS_URL everywhere.`;

/** Whether this process is the last that claimed the database. */
export const isHolder = async (sql: Queryable, { holder }: HotOwner): Promise<boolean> => {
  const [known = holder] = await readColumn<string>(sql`select holder from hot_store`);
  return known === holder;
};
