/**
 * The public search: listings whose names, short texts or tags contain all words, in one of five orders.
 *
 * Its work is bounded by rows, because the embedded SQL cannot be timed out. A page is sought in two ways.
 * First along the order, through `walkedPerPage` listings for each page before it: words that many listings
 * have fill a page there, in the exact order. Otherwise few have them, so all that the index of words finds
 * are sorted, `foundMax` at most. A search may miss some only if its words match more than that but too few
 * of those walked, or if the index cannot look for them; then the count says "at least", as it does where
 * there is another page. Two searches run at a time.
 *
 * Where nothing has all words, one of them may have a wrong letter (near.ts): then the word that listings
 * have is sought in its place, and the page says so.
 */
import { type EntityKind, entityKinds, type Target } from '../../../engine/ids.ts';
import { type Edition, type RankedKind, rankedKinds } from '../../../engine/rules/boards.ts';
import { computeOffset, perPage } from '../../../engine/rules/pages.ts';
import { createSemaphore } from '../../../engine/tools/semaphore.ts';
import { type Fragment, formatNumbers, type Sql } from '../../sql/client.ts';
import { asStorage } from '../../sql/errors.ts';
import { hasRow, readFlag } from '../../sql/rows.ts';
import type { Snapshots } from '../shared/cache.ts';
import type { IndexRow } from '../shared/index-rows.ts';
import { findNear, splitPieces } from './near.ts';

export type SearchSort = 'votes' | 'clicks' | 'growth' | 'new' | 'name';

export interface SearchRequest {
  /** In lower case, without blanks. */
  readonly words: readonly string[];
  readonly tags: readonly string[];
  /** `null`: all. */
  readonly kind: EntityKind | null;
  readonly sort: SearchSort;
  readonly page: number;
}

/** A listing that was found. A pack has no vanity code. Integers beyond 2^53 are decimal strings. */
export interface FoundRow
  extends Target,
    Pick<IndexRow, 'clicks' | 'nsfw' | 'short' | 'tags' | 'vanity' | 'votes'> {
  readonly name: string;
  readonly avatar: string;
  readonly servers: string;
  readonly total_members: number | null;
  readonly created_at: Date;
}
export interface SearchPage {
  readonly rows: readonly FoundRow[];
  readonly count: number;
  readonly countIs: 'exact' | 'at_least';
  readonly hasMore: boolean;
  /** A word that nothing has, and the one that was sought in its place. */
  readonly instead: { readonly word: string; readonly shown: string } | null;
}

const searchesAtOnce = 2;
const walkedPerPage = 1_000;
/** Pages that are sought along the order. */
const walkedPagesMax = 10;
/** A walk finds as many pages as the next of these numbers, so that there are few statements to plan. */
const walkedPageSteps = [1, 4, walkedPagesMax] as const;
const foundMax = 2_000;
/** How long the absence of the index is remembered, ms. */
const indexKnownMs = 10_000;

type Editions = (kind: RankedKind, board: 'growth-week') => Edition | null;

interface SearchParts {
  readonly sql: Sql;
  readonly findEdition: Editions;
}

const escapePattern = (word: string): string => word.replace(/[\\%_]/g, '\\$&');

/**
 * Whether the index of words has anything to look for: three letters in a row, or the start of a word. Other
 * words would read all of it. Without `unicode` it knows no letters but those of ASCII.
 */
const isIndexed = (word: string, unicode: boolean): boolean => {
  const isShort = [...word].length < 3;
  if (unicode) return (isShort ? /^[\p{L}\p{N}]/u : /[\p{L}\p{N}]{3}/u).test(word);
  return (isShort ? /^[a-z0-9]/ : /[a-z0-9]{3}/).test(word);
};

/** Converts a word to a pattern. Two letters are the start of a word: the index finds parts from three on. */
const toPattern = (word: string): string => {
  const isStart = [...word].length < 3 && isIndexed(word, true);
  return `%${isStart ? ' ' : ''}${escapePattern(word)}%`;
};

/** Converts words to the form in which they are compared: the schema folds what is searched and this. */
const foldWords = async (sql: Sql, words: readonly string[]): Promise<readonly string[]> => {
  if (/^[\x20-\x7e]*$/.test(words.join(' '))) return words;
  const rows = await sql<{ word: string }[]>`
    select fold_words(word) as word
    from unnest(${words as string[]}::text[]) with ordinality as given (word, place) order by place`;
  return rows.map(({ word }) => word);
};

const buildWord = (sql: Sql, word: string): Fragment => sql`words like ${toPattern(word)}`;

/** Builds a condition for each word: Postgres uses no index of trigrams for `like all (array)`. */
const buildConditions = (sql: Sql, { words, tags }: SearchRequest): Fragment => {
  const tagged: Fragment =
    tags.length === 0 ? sql`true` : sql`search_entries.tags @> ${tags as string[]}::text[]`;
  return words.reduce<Fragment>((all, word) => sql`${all} and ${buildWord(sql, word)}`, tagged);
};

/** Builds the condition without a parameter: one plan for all kinds reads whole tables for a rare kind. */
const buildKind = (sql: Sql, kind: EntityKind | null): Fragment =>
  kind === null ? sql`true` : sql`${sql.unsafe(`kind = '${kind}'`)}`;

/** Builds a limit without a parameter: the planner makes a plan at each execution for an unknown number. */
const buildLimit = (sql: Sql, rows: number): Fragment => sql`${sql.unsafe(`limit ${rows}`)}`;

/** Lists the incarnations on the boards of growth, in their order. */
const listGrown = ({ findEdition }: SearchParts): readonly number[] =>
  rankedKinds
    .flatMap((kind) => findEdition(kind, 'growth-week')?.places ?? [])
    .map((place) => place.incarnation);

const byVotes = { table: 'totals', column: 'votes desc', score: 'totals.votes', label: `''` } as const;
/** Where the column of each order is. Listings are compared by a score, higher first, then by a label. */
const orders = {
  votes: byVotes,
  /** After the listings on the boards of growth. */
  growth: byVotes,
  clicks: { ...byVotes, column: 'clicks desc', score: 'totals.clicks' },
  new: {
    table: 'search_entries',
    column: 'created_at desc',
    score: 'extract(epoch from search_entries.created_at)',
    label: `''`,
  },
  name: { table: 'search_entries', column: 'name collate "C"', score: '0', label: 'search_entries.name' },
} as const;

/** Builds what listings are compared by, from rows that have the names of their tables. */
const buildRank = (sql: Sql, sort: SearchSort): { readonly score: Fragment; readonly label: Fragment } => {
  const { score, label } = orders[sort];
  return { score: sql`${sql.unsafe(score)}::float8`, label: sql`${sql.unsafe(label)}::text` };
};

/** Builds a query of the listings of one kind along the order, with what they are ordered by. */
const buildWalk = (
  sql: Sql,
  { sort, kind, rows }: Pick<SearchRequest, 'sort'> & { readonly kind: EntityKind; readonly rows: number },
): Fragment => {
  const { table, column } = orders[sort];
  const { score, label } = buildRank(sql, sort);
  return sql`select incarnation, ${score} as score, ${label} as label from ${sql(table)}
    where ${buildKind(sql, kind)} order by ${sql.unsafe(column)}, incarnation ${buildLimit(sql, rows)}`;
};

interface Ranked {
  readonly incarnation: number;
}

/** Puts the listings on the boards of growth before the others. */
const buildGrowthWalk = (parts: SearchParts, walks: Fragment, kind: EntityKind | null): Fragment => {
  const { sql } = parts;
  return sql`
    with grown as materialized (
      select incarnation, place from unnest((select ${formatNumbers(listGrown(parts))}::bigint[]))
        with ordinality as listed (incarnation, place))
    select ordered.*, null::bigint as place from (${walks}) as ordered
    where incarnation not in (select incarnation from grown)
    union all
    select incarnation, votes::float8, '', place from grown join totals using (incarnation)
    where ${buildKind(sql, kind)}`;
};

/**
 * Walks along the order; one more than the page shows whether there is more. `offset 0` keeps the planner
 * from anything but a look-up of each row by its key.
 */
const walk = async (
  parts: SearchParts,
  request: SearchRequest,
  { found, rows }: { readonly found: number; readonly rows: number },
): Promise<readonly Ranked[]> => {
  const { sql } = parts;
  const { kind, sort } = request;
  const kinds = kind === null ? entityKinds : [kind];
  const walks = kinds
    .map((one): Fragment => sql`(${buildWalk(sql, { sort, kind: one, rows })})`)
    .reduce((joined, next) => sql`${joined} union all ${next}`);
  const all =
    sort === 'growth'
      ? buildGrowthWalk(parts, walks, kind)
      : sql`select ordered.*, null::bigint as place from (${walks}) as ordered`;
  return sql<Ranked[]>`
    with walked as materialized (${all})
    select incarnation from walked cross join lateral (
      select words, tags from search_entries where search_entries.incarnation = walked.incarnation offset 0
    ) as search_entries
    where ${buildConditions(sql, request)}
    order by place nulls last, score desc, label collate "C", incarnation ${buildLimit(sql, found)}`;
};

/**
 * Sorts all that the index finds as in a walk: one page may come from here and the next from there. More than
 * `foundMax` of them are cut before they are sorted.
 */
const sortFound = async (parts: SearchParts, request: SearchRequest): Promise<readonly Ranked[]> => {
  const { sql } = parts;
  const grown = request.sort === 'growth' ? formatNumbers(listGrown(parts)) : '{}';
  const { score, label } = buildRank(sql, request.sort);
  return sql<Ranked[]>`
    with found as materialized (
      select incarnation, name, created_at from search_entries
      where ${buildKind(sql, request.kind)} and ${buildConditions(sql, request)}
      ${buildLimit(sql, foundMax + 1)})
    select incarnation from found as search_entries cross join lateral (
      select votes, clicks from totals
      where totals.incarnation = search_entries.incarnation offset 0) as totals
    order by array_position(${grown}::bigint[], incarnation) nulls last, ${score} desc,
      ${label} collate "C", incarnation`;
};

const readRows = (sql: Sql, found: readonly Ranked[]): Promise<readonly FoundRow[]> => {
  const incarnations = formatNumbers(found.map(({ incarnation }) => incarnation));
  return sql<FoundRow[]>`
    select totals.kind, totals.entity_id as id, coalesce(vanity.code, '') as vanity,
      coalesce(users.display_name, servers.name, teams.name, packs.name, totals.entity_id) as name,
      coalesce(users.avatar, servers.avatar, '') as avatar,
      coalesce(bots.short, servers.short, teams.short, packs.short) as short, search_entries.tags,
      coalesce(bots.nsfw, servers.nsfw, teams.nsfw, false) as nsfw, totals.votes, totals.clicks,
      totals.servers, servers.total_members, search_entries.created_at
    from unnest((select ${incarnations}::bigint[])) with ordinality as wanted (incarnation, place)
    join totals using (incarnation) join search_entries using (incarnation)
    left join bots using (incarnation) left join users on users.id = bots.bot_id
    left join servers using (incarnation) left join teams using (incarnation)
    left join packs using (incarnation)
    left join vanity on vanity.itag = coalesce(bots.vanity_ref, servers.vanity_ref, teams.vanity_ref)
    order by wanted.place`;
};

interface WordIndex {
  readonly exists: boolean;
  /** Whether it knows letters beyond ASCII, which depends on the locale of the database. */
  readonly unicode: boolean;
}

const findPage = async (
  parts: SearchParts,
  request: SearchRequest,
  { unicode }: WordIndex,
): Promise<SearchPage> => {
  const start = computeOffset(request.page, perPage.search);
  const end = start + perPage.search;
  const toPage = async (ranked: readonly Ranked[], countIs: SearchPage['countIs']): Promise<SearchPage> => ({
    rows: await readRows(parts.sql, ranked.slice(start, end)),
    count: Math.min(ranked.length, foundMax),
    countIs,
    hasMore: ranked.length > end,
    instead: null,
  });
  const { words, tags, page } = request;
  const usesIndex = words.some((word) => isIndexed(word, unicode)) || tags.length > 0;
  const isWhole = words.length === 0 && tags.length === 0;
  const pages = walkedPageSteps.find((step) => step >= page);
  const walked =
    pages === undefined
      ? []
      : await walk(parts, request, {
          found: pages * perPage.search + 1,
          rows: walkedPerPage * (usesIndex ? pages : walkedPagesMax),
        });
  if (walked.length > end) return toPage(walked, 'at_least');
  const found = usesIndex || isWhole ? await sortFound(parts, request) : null;
  const isCut = found !== null && found.length > foundMax;
  // Without a word those that were found need not be the first of the order.
  if (found === null || (isCut && isWhole)) return toPage(walked, 'at_least');
  return toPage(found, isCut ? 'at_least' : 'exact');
};

/** Seeks with another word in the place of each that may have a wrong letter, until something is found. */
const findNearPage = async (
  parts: SearchParts,
  request: SearchRequest,
  index: WordIndex,
): Promise<SearchPage | null> => {
  for (const [at, word] of request.words.entries()) {
    const others = request.words.filter((_, place) => place !== at);
    const condition: Fragment = parts.sql`${buildKind(parts.sql, request.kind)}
      and ${buildConditions(parts.sql, { ...request, words: others })}`;
    for (const piece of splitPieces(word)) {
      const near = await findNear(parts.sql, piece, condition);
      if (near === null) continue;
      const shown = word.replace(piece, near);
      const page = await findPage(parts, { ...request, words: request.words.with(at, shown) }, index);
      if (page.count > 0) return { ...page, instead: { word, shown } };
    }
  }
  return null;
};

/** Finds what has all words, else what may be meant by them. */
const findListed = async (
  parts: SearchParts,
  given: SearchRequest,
  index: WordIndex,
): Promise<SearchPage> => {
  const words = await foldWords(parts.sql, given.words);
  const request = { ...given, words: words.filter((word) => word !== '') };
  const page = await findPage(parts, request, index);
  return page.count > 0 ? page : ((await findNearPage(parts, request, index)) ?? page);
};

const readIndex = async (sql: Sql): Promise<WordIndex> => {
  const exists = await hasRow(sql`
    select from pg_index where indexrelid = to_regclass('search_words') and indisvalid`);
  const unicode = exists && (await readFlag(sql`select cardinality(show_trgm('ж')) > 0`));
  return { exists, unicode };
};

/** Creates the search; its pages are as old as those of lists. */
export const createSearch = (sql: Sql, snapshots: Snapshots, findEdition: Editions) => {
  const limit = createSemaphore(searchesAtOnce);
  const parts = { sql, findEdition };
  let known: { readonly index: WordIndex; readonly untilMs: number } | null = null;
  const getIndex = async (): Promise<WordIndex> => {
    const nowMs = performance.now();
    if (known !== null && (known.index.exists || nowMs < known.untilMs)) return known.index;
    known = { index: await readIndex(sql), untilMs: nowMs + indexKnownMs };
    return known.index;
  };
  return {
    /** Finds a page of listings; `null` while there is no index of words. */
    find: async (request: SearchRequest) => {
      const index = await asStorage('search.index', getIndex);
      if (!index.exists) return null;
      return snapshots.get(`search ${JSON.stringify(request)}`, () =>
        limit(() => asStorage('search.find', () => findListed(parts, request, index))),
      );
    },
  };
};
export type Search = ReturnType<typeof createSearch>;
