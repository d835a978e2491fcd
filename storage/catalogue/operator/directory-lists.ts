/**
 * The operator's lists of users, bots, servers, teams and packs, whole or searched by id and prefix of the
 * name, in any letter case.
 *
 * A search looks at the one entity with that id and at most `namesSearchedMax` names with the prefix, through
 * the indexes of storage/sql/search-indexes.ts, so it is fast at any size of the directory. Names compare by
 * their bytes, as those indexes do.
 */
import type { Queryable, Sql } from '../../sql/client.ts';
import { asStorage } from '../../sql/errors.ts';
import type { BanKind, UserRow } from '../people/people-edits.ts';
import type { ListingType } from '../shared/listings.ts';
import { buildPage, type ListPage, type ListSource, readPage, type StatementPart } from './pages.ts';

export interface BotSummary {
  readonly bot_id: string;
  readonly name: string;
  readonly type: ListingType;
  readonly owner: string;
  readonly claimed_by: string;
  readonly created_at: Date;
}
export interface ServerSummary {
  readonly server_id: string;
  readonly name: string;
  readonly type: ListingType;
  readonly state: string;
  readonly team_owner: string;
  readonly created_at: Date;
}
export interface TeamSummary {
  readonly id: string;
  readonly name: string;
  readonly vote_banned: boolean;
  readonly created_at: Date;
}
export interface PackSummaryRow extends Omit<TeamSummary, 'id'> {
  readonly url: string;
  readonly owner: string;
}

/** Pages count from 1. An empty `search` lists all; other filters apply where they are not `null`. */
export interface ListRequest {
  readonly page: number;
  readonly search: string;
}
export interface DirectoryLists {
  users(request: ListRequest & { readonly ban: BanKind | null }): Promise<ListPage<UserRow>>;
  /** Without a search the oldest come first, so the longest wait for a review comes first. */
  bots(request: ListRequest & { readonly type: ListingType | null }): Promise<ListPage<BotSummary>>;
  servers(request: ListRequest & { readonly type: ListingType | null }): Promise<ListPage<ServerSummary>>;
  teams(request: ListRequest): Promise<ListPage<TeamSummary>>;
  packs(request: ListRequest): Promise<ListPage<PackSummaryRow>>;
}

interface Searchable {
  readonly table: 'users' | 'bots' | 'servers' | 'teams' | 'packs';
  readonly key: string;
  /** Where the names are; the key of that table too. */
  readonly names: { readonly table: string; readonly key: string; readonly column: string };
}
const searchables = {
  users: { table: 'users', key: 'id', names: { table: 'users', key: 'id', column: 'username' } },
  bots: { table: 'bots', key: 'bot_id', names: { table: 'users', key: 'id', column: 'username' } },
  servers: {
    table: 'servers',
    key: 'server_id',
    names: { table: 'servers', key: 'server_id', column: 'name' },
  },
  teams: { table: 'teams', key: 'id', names: { table: 'teams', key: 'id', column: 'name' } },
  packs: { table: 'packs', key: 'url', names: { table: 'packs', key: 'url', column: 'name' } },
} as const satisfies Record<string, Searchable>;

/** Names that one search looks at; a longer prefix finds the others. */
export const namesSearchedMax = 1_000;

/** Above every character that a name can contain. */
const lastCharacter = '\u{10ffff}';

/** Ids and names that match, the exact id first. */
const buildCandidates = (sql: Queryable, { table, key, names }: Searchable, search: string) => {
  const name = sql`lower(${sql(names.column)}) collate "C"`;
  return sql`
    select ${sql(key)} as key, 0 as rank, '' as name from ${sql(table)} where ${sql(key)} = ${search}
    union all (
      select ${sql(names.key)}, 1, ${name} from ${sql(names.table)}
      where ${name} >= lower(${search}) and ${name} < lower(${search}) || ${lastCharacter}
        and ${sql(names.key)} <> ${search}
      order by 3, 1 limit ${namesSearchedMax})`;
};

interface Search {
  readonly searchable: Searchable;
  readonly columns: StatementPart;
  /** Joins and a condition on the searched table, which the statement calls by its own name. */
  readonly joins?: StatementPart;
  readonly where?: StatementPart | undefined;
}

const readSearch = async <Row extends object>(
  sql: Sql,
  { searchable, columns, joins, where }: Search,
  { page, search }: ListRequest,
): Promise<ListPage<Row>> => {
  const { table, key } = searchable;
  const found = sql`
    from (${buildCandidates(sql, searchable, search)}) as candidates
    join ${sql(table)} on ${sql(table)}.${sql(key)} = candidates.key ${joins ?? sql``} ${where ?? sql``}`;
  const [rows, counts] = await Promise.all([
    sql<Row[]>`
      select ${columns} ${found}
      order by candidates.rank, candidates.name, candidates.key ${buildPage(sql, page)}`,
    sql<{ found: number; candidates: number }[]>`
      select (select count(*) ${found}) as found,
        (select count(*) from (${buildCandidates(sql, searchable, search)}) as all_candidates) as candidates`,
  ]);
  const [{ found: total, candidates } = { found: 0, candidates: 0 }] = counts;
  return {
    rows: rows as readonly Row[],
    total,
    totalIs: candidates >= namesSearchedMax ? 'at_least' : 'exact',
  };
};

/** Reads a page of all rows, or of those that a search finds. */
const readList = <Row extends object>(
  sql: Sql,
  { order, ...search }: Search & { readonly order: StatementPart },
  request: ListRequest,
): Promise<ListPage<Row>> =>
  asStorage(`lists.${search.searchable.table}`, () => {
    if (request.search !== '') return readSearch<Row>(sql, search, request);
    const { columns, joins, where } = search;
    const { table } = search.searchable;
    const select = sql`
      select ${columns} from ${sql(table)} ${joins ?? sql``} ${where ?? sql``} order by ${order}`;
    return readPage<Row>(sql, { select, table, where } satisfies ListSource, request.page);
  });

export const createDirectoryLists = (sql: Sql): DirectoryLists => ({
  users: ({ ban, ...request }) =>
    readList(
      sql,
      {
        searchable: searchables.users,
        columns: sql`users.id, username, display_name, avatar, bot, flags, banned, vote_banned, created_at`,
        where: ban === null ? undefined : sql`where users.${sql(ban)}`,
        order: sql`users.id`,
      },
      request,
    ),
  bots: ({ type, ...request }) =>
    readList(
      sql,
      {
        searchable: searchables.bots,
        columns: sql`bots.bot_id, coalesce(people.username, bots.bot_id) as name, bots.type,
          case when bots.last_claimed > now() - interval '1 hour' then bots.claimed_by else '' end
            as claimed_by,
          coalesce(bots.owner_id, 'team ' || bots.team_id) as owner, bots.created_at`,
        joins: sql`left join users as people on people.id = bots.bot_id`,
        where: type === null ? undefined : sql`where bots.type = ${type}`,
        order: sql`bots.created_at, bots.bot_id`,
      },
      request,
    ),
  servers: ({ type, ...request }) =>
    readList(
      sql,
      {
        searchable: searchables.servers,
        columns: sql`server_id, servers.name, type, state, team_id as team_owner, created_at`,
        where: type === null ? undefined : sql`where servers.type = ${type}`,
        order: sql`servers.server_id`,
      },
      request,
    ),
  teams: (request) =>
    readList(
      sql,
      {
        searchable: searchables.teams,
        columns: sql`teams.id, teams.name, vote_banned, created_at`,
        order: sql`teams.id`,
      },
      request,
    ),
  packs: (request) =>
    readList(
      sql,
      {
        searchable: searchables.packs,
        columns: sql`url, packs.name, owner_id as owner, vote_banned, created_at`,
        order: sql`packs.url`,
      },
      request,
    ),
});
