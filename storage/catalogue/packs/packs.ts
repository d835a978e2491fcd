/**
 * Packs in SQL, with the bots and servers they collect.
 *
 * Three statements for any number of packs: the packs, all their bots, all their servers. A bot or server
 * deleted later drops out of the rows but stays in the pack's ids. Callers: catalogue.ts, front-page.ts.
 */
import type { Queryable } from '../../sql/client.ts';
import {
  buildIdList,
  type Fragment,
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
/** Packs and what they name, each once. */
export interface PackPage {
  readonly packs: readonly PackRow[];
  readonly bots: ReadonlyMap<string, IndexBotRow>;
  readonly servers: ReadonlyMap<string, IndexServerRow>;
}

const selectPacks = (sql: Queryable, which: Fragment) => sql<PackRow[]>`
  select packs.url, packs.bot_ids, packs.created_at, packs.name, packs.owner_id,
    ${buildPersonColumn(sql, 'owner')} as owner, packs.server_ids, packs.short, packs.tags, packs.vote_banned,
    totals.votes
  from packs
  join totals on totals.incarnation = packs.incarnation
  left join users as owner on owner.id = packs.owner_id
  ${which}`;

const fillPacks = async (sql: Queryable, packs: readonly PackRow[]): Promise<PackPage> => {
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

/** The pack with this url in any case; `packs` is empty when there is none. */
export const findPack = async (sql: Queryable, url: string): Promise<PackPage> =>
  fillPacks(sql, await selectPacks(sql, sql`where packs.url = ${url.toLowerCase()}`));

export interface PackSummary {
  readonly url: string;
  readonly name: string;
  readonly short: string;
}
/** By url, else by name in any case (of several the oldest). */
export const findPackSummary = async (sql: Queryable, word: string): Promise<PackSummary | null> => {
  const url = word.toLowerCase();
  const rows = await sql<PackSummary[]>`
    select url, name, short from packs where url = ${url} or lower(name) = lower(${word})
    order by url <> ${url}, created_at, url limit 1`;
  return rows[0] ?? null;
};

export const readNewestPacks = async (sql: Queryable, rowsMax: number): Promise<PackPage> =>
  fillPacks(
    sql,
    await selectPacks(
      sql,
      sql`where packs.url in (select url from packs order by created_at desc, url desc limit ${rowsMax})
        order by packs.created_at desc, packs.url desc`,
    ),
  );

/** Packs that still exist among these, in their order. */
export const selectPackPage = async (sql: Queryable, urls: readonly string[]): Promise<PackPage> =>
  fillPacks(
    sql,
    await selectPacks(
      sql,
      sql`join unnest(${urls as string[]}::text[]) with ordinality as wanted(url, place) using (url)
        order by wanted.place`,
    ),
  );
