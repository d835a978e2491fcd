/**
 * The operator's lists of users, bots, servers, teams and packs, whole or searched by id and prefix of the
 * name, in any letter case.
 *
 * A search looks at the one entity with that id and at most `namesSearchedMax` names with the prefix, through
 * indexes of their folded names, so it is fast at any size of the directory. Names compare by their bytes, as
 * those indexes do.
 */
import { foldTargetId } from '../../../engine/ids.ts';
import type { Fragment, Queryable, Sql } from '../../sql/client.ts';
import { asStorage } from '../../sql/errors.ts';
import type { BanKind } from '../people/people-edits.ts';
import type { ListingType } from '../shared/listings.ts';
import { buildPage, type ListPage, type ListSource, readPage } from './pages.ts';

/** Pages count from 1. An empty `search` lists all; other filters apply where they are not `null`. */
interface ListRequest {
  readonly page: number;
  readonly search: string;
}

/** A list: its table, columns and order, and the table with the names that a search looks in. */
interface DirectoryList {
  readonly table: 'users' | 'bots' | 'servers' | 'teams' | 'packs';
  readonly key: string;
  /** Returns the id as the table has it. Default: as given. */
  readonly foldId?: (id: string) => string;
  /** Default: the column `name` of the table itself. */
  readonly names?: { readonly table: string; readonly key: string; readonly column: string };
  readonly columns: Fragment;
  /** Default: by the key. */
  readonly order?: Fragment;
  /** Joins and a condition on the table, which the statement calls by its own name. */
  readonly joins?: Fragment;
  readonly where?: Fragment | undefined;
}

/** Names that one search looks at; a longer prefix finds the others. */
export const namesSearchedMax = 1_000;

/** Above every character that a name can contain. */
const lastCharacter = '\u{10ffff}';

/** Ids and names that match, the exact id first. */
const buildCandidates = (sql: Queryable, list: DirectoryList, search: string) => {
  const { table, key, foldId, names = { table, key, column: 'name' } } = list;
  const name = sql`fold_case(${sql(names.column)}) collate "C"`;
  const id = foldId?.(search) ?? search;
  return sql`
    select ${sql(key)} as key, 0 as rank, '' as name from ${sql(table)} where ${sql(key)} = ${id}
    union all (
      select ${sql(names.key)}, 1, ${name} from ${sql(names.table)}
      where ${name} >= fold_case(${search}) and ${name} < fold_case(${search}) || ${lastCharacter}
        and ${sql(names.key)} <> ${id}
      order by 3, 1 limit ${namesSearchedMax})`;
};

const readSearch = async (
  sql: Sql,
  list: DirectoryList,
  { page, search }: ListRequest,
): Promise<ListPage<object>> => {
  const { table, key, columns, joins, where } = list;
  const found = sql`
    from (${buildCandidates(sql, list, search)}) as candidates
    join ${sql(table)} on ${sql(table)}.${sql(key)} = candidates.key ${joins ?? sql``} ${where ?? sql``}`;
  const [rows, counts] = await Promise.all([
    sql`
      select ${columns} ${found}
      order by candidates.rank, candidates.name, candidates.key ${buildPage(sql, page)}`,
    sql<{ found: number; candidates: number }[]>`
      select (select count(*) ${found}) as found,
        (select count(*) from (${buildCandidates(sql, list, search)}) as all_candidates) as candidates`,
  ]);
  const [{ found: total, candidates } = { found: 0, candidates: 0 }] = counts;
  return { rows, total, totalIs: candidates >= namesSearchedMax ? 'at_least' : 'exact' };
};

/** Reads a page of all rows, or of those that a search finds. */
const readList = (sql: Sql, request: ListRequest, list: DirectoryList): Promise<ListPage<object>> =>
  asStorage(`lists.${list.table}`, () => {
    if (request.search !== '') return readSearch(sql, list, request);
    const { columns, joins, where, table, order = sql`${sql(table)}.${sql(list.key)}` } = list;
    const select = sql`
      select ${columns} from ${sql(table)} ${joins ?? sql``} ${where ?? sql``} order by ${order}`;
    return readPage(sql, { select, table, where } satisfies ListSource, request.page);
  });

const usernames = { table: 'users', key: 'id', column: 'username' };

/** Creates the lists; their rows have what the schemas of http/operator/list-schema.ts show. */
export const createDirectoryLists = (sql: Sql) => ({
  users: ({ ban, ...request }: ListRequest & { readonly ban: BanKind | null }) =>
    readList(sql, request, {
      table: 'users',
      key: 'id',
      names: usernames,
      columns: sql`users.id, username, display_name, avatar, bot, flags, banned, vote_banned, created_at`,
      where: ban === null ? undefined : sql`where users.${sql(ban)}`,
    }),
  /** Lists bots, without a search the oldest first, so the longest wait for a review comes first. */
  bots: ({ type, ...request }: ListRequest & { readonly type: ListingType | null }) =>
    readList(sql, request, {
      ...{ table: 'bots', key: 'bot_id', names: usernames, order: sql`bots.created_at, bots.bot_id` },
      columns: sql`bots.bot_id, coalesce(people.username, bots.bot_id) as name, bots.type,
        case when bots.last_claimed > now() - interval '1 hour' then bots.claimed_by else '' end
          as claimed_by,
        coalesce(bots.owner_id, 'team ' || bots.team_id) as owner, bots.created_at`,
      joins: sql`left join users as people on people.id = bots.bot_id`,
      where: type === null ? undefined : sql`where bots.type = ${type}`,
    }),
  servers: ({ type, ...request }: ListRequest & { readonly type: ListingType | null }) =>
    readList(sql, request, {
      table: 'servers',
      key: 'server_id',
      columns: sql`server_id, servers.name, type, state, team_id as team_owner, created_at`,
      where: type === null ? undefined : sql`where servers.type = ${type}`,
    }),
  teams: (request: ListRequest) =>
    readList(sql, request, {
      table: 'teams',
      key: 'id',
      columns: sql`teams.id, teams.name, vote_banned, created_at`,
    }),
  packs: (request: ListRequest) =>
    readList(sql, request, {
      table: 'packs',
      key: 'url',
      foldId: (url) => foldTargetId('pack', url),
      columns: sql`url, packs.name, owner_id as owner, vote_banned, created_at`,
    }),
});
