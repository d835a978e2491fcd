/**
 * Packs in SQL, with the bots and servers in them.
 *
 * Three statements for any number of packs: the packs, all their bots, all their servers. A deleted bot or
 * server is missing from the rows but stays in the pack's ids.
 */
import { foldTargetId } from '../../../engine/ids.ts';
import type { Fragment, Queryable } from '../../sql/client.ts';
import { readFirst } from '../../sql/rows.ts';
import {
  buildIdList,
  type IndexBotRow,
  type IndexServerRow,
  selectIndexBots,
  selectIndexServers,
} from '../shared/index-rows.ts';
import { buildPersonColumn, type PersonRow } from '../shared/people.ts';

export interface PackRow {
  readonly url: string;
  readonly bot_ids: readonly string[];
  readonly created_at: Date;
  readonly name: string;
  readonly owner_id: string;
  readonly owner: PersonRow | null;
  readonly server_ids: readonly string[];
  readonly short: string;
  readonly tags: readonly string[];
  readonly vote_banned: boolean;
  readonly votes: number;
}
/** Packs, and the bots and servers in them by id. */
export interface PackPage {
  readonly packs: readonly PackRow[];
  readonly bots: ReadonlyMap<string, IndexBotRow>;
  readonly servers: ReadonlyMap<string, IndexServerRow>;
}

/** Reads the packs of a clause, and what is in them. */
const readPacks = async (sql: Queryable, clause: Fragment): Promise<PackPage> => {
  const packs = await sql<PackRow[]>`
    select packs.url, packs.bot_ids, packs.created_at, packs.name, packs.owner_id,
      ${buildPersonColumn(sql, 'packs.owner_id')} as owner, packs.server_ids, packs.short, packs.tags,
      packs.vote_banned, totals.votes
    from packs
    join totals on totals.incarnation = packs.incarnation
    ${clause}`;
  const botIds = [...new Set(packs.flatMap((pack) => pack.bot_ids))];
  const serverIds = [...new Set(packs.flatMap((pack) => pack.server_ids))];
  const bots = botIds.length === 0 ? [] : await selectIndexBots(sql, buildIdList(sql, botIds));
  const servers = serverIds.length === 0 ? [] : await selectIndexServers(sql, buildIdList(sql, serverIds));
  return {
    packs,
    bots: new Map(bots.map((row) => [row.bot_id, row])),
    servers: new Map(servers.map((row) => [row.server_id, row])),
  };
};

/** Finds the pack with this url, in any letter case; `packs` is empty when there is none. */
export const findPack = (sql: Queryable, url: string): Promise<PackPage> =>
  readPacks(sql, sql`where packs.url = ${foldTargetId('pack', url)}`);

export type PackSummary = Pick<PackRow, 'url' | 'name' | 'short'>;
/** Finds by url, else the oldest pack with this name, in any letter case. */
export const findPackSummary = async (sql: Queryable, urlOrName: string): Promise<PackSummary | null> => {
  const url = foldTargetId('pack', urlOrName);
  return readFirst(sql<PackSummary[]>`
    select url, name, short from packs where url = ${url} or fold_case(name) = fold_case(${urlOrName})
    order by url <> ${url}, created_at, url limit 1`);
};

/** Reads the newest packs. */
export const readNewestPacks = (sql: Queryable, rowsMax: number): Promise<PackPage> =>
  readPacks(
    sql,
    sql`where packs.url in (select url from packs order by created_at desc, url desc limit ${rowsMax})
      order by packs.created_at desc, packs.url desc`,
  );

/** Reads the packs of these urls that still exist, in this order. */
export const selectPackPage = (sql: Queryable, urls: readonly string[]): Promise<PackPage> =>
  readPacks(
    sql,
    sql`join unnest((select ${urls as string[]}::text[])) with ordinality as listed(url, place) using (url)
      order by listed.place`,
  );
