/**
 * The search: listings by words of their names, short texts and tags. The site shows the same as a page.
 */
import { type Static, Type } from 'typebox';
import { entityKinds } from '../../engine/ids.ts';
import { perPage } from '../../engine/rules/pages.ts';
import type {
  FoundRow,
  SearchPage,
  SearchRequest,
  SearchSort,
} from '../../storage/catalogue/lists/search.ts';
import type { App } from '../app.ts';
import { createUnavailableError, createValidationError } from '../response/errors.ts';
import { replyOk, showRow } from '../response/reply.ts';
import { type AnyRoute, definePublicRoute, defineRoutes } from '../route.ts';
import {
  buildCount,
  buildFlag,
  buildSum,
  buildText,
  buildTextList,
  PageQuery,
  Timestamp,
  toNullable,
} from './shared/common.ts';
import { parsePage, toExactInteger } from './shared/convert.ts';
import { buildObject, describe, describeObject } from './shared/example.ts';
import { plainText } from './shared/patterns.ts';

export const searchSorts = [
  'votes',
  'clicks',
  'growth',
  'new',
  'name',
] as const satisfies readonly SearchSort[];

const wordsMax = 8;
const tagsMax = 5;

export const ListingSearch = Type.Object({
  q: Type.Optional(
    Type.String({
      maxLength: 100,
      pattern: plainText,
      description:
        'Words; a name, short text or tag must contain each of them, in any letter case. Three letters and ' +
        'more are found anywhere, fewer at the start of a word. All listings if absent.',
      examples: ['light house'],
    }),
  ),
  kind: Type.Optional(
    Type.Enum([...entityKinds, ''], {
      description: '`bot`, `server`, `team` or `pack`; all if absent.',
      examples: ['bot'],
    }),
  ),
  tags: Type.Optional(
    Type.String({
      maxLength: 200,
      pattern: plainText,
      description:
        'Up to 5 tags, separated by commas; a listing must have each of them. A backslash stands before a ' +
        'comma of a tag, and before a blank at its ends.',
      examples: ['moderation'],
    }),
  ),
  sort: Type.Optional(
    Type.Enum([...searchSorts, ''], {
      description:
        'What comes first: most votes (if absent), most views, growth of the week, the newest, or by name.',
      examples: ['votes'],
    }),
  ),
  page: PageQuery.properties.page,
});
export type ListingSearch = Static<typeof ListingSearch>;

const Found = buildObject({
  target_type: buildText('bot', '`bot`, `server`, `team` or `pack`.'),
  target_id: buildText('815553000470478850', 'Its id; of a pack its url.'),
  vanity: buildText('lighthouse', 'Its short address, as in `/@{code}`; empty for a pack.'),
  name: buildText('Lighthouse', 'Its name.'),
  avatar: buildText('', 'Address of its picture; may be empty.'),
  short: buildText('Keeps watch over your server, day and night.', 'Its short description.'),
  tags: buildTextList('Its tags.', ['moderation']),
  nsfw: buildFlag('Whether it is for adults only.'),
  votes: buildSum(41, 'Upvotes minus downvotes, at most a few seconds late.'),
  clicks: buildCount(1_207, 'Views of its page, at most a few seconds late.'),
  servers: toNullable(Type.Integer({ minimum: 0, examples: [1_200] }), 'Of bots: servers they are in.'),
  total_members: toNullable(Type.Integer({ minimum: 0, examples: [2_048] }), 'Of servers: members.'),
  created_at: describe(Timestamp, 'When it was added to this directory.'),
});

export const SearchReply = describeObject('One page of what a search found.', {
  count: buildCount(1, 'How many listings were found.'),
  count_is: buildText(
    'exact',
    '`exact`, or `at_least` where there may be more, as where another page follows.',
  ),
  per_page: buildCount(perPage.search, 'Listings on a full page.'),
  instead: toNullable(
    describeObject('The word that nothing has, and what was sought.', {
      word: buildText('lantren', 'The word of the search.'),
      shown: buildText('lantern', 'The word, one letter apart, that the results have in its place.'),
    }),
    'Where nothing has exactly the words: results have another in the place of one of five letters or more.',
  ),
  results: Type.Array(Found, { description: 'The listings of this page.' }),
});
export type SearchReply = Static<typeof SearchReply>;

export const searchRoutes: readonly AnyRoute[] = defineRoutes('Beyond the contract', [
  definePublicRoute('searchListings', 'GET /search', {
    summary: 'Search',
    description:
      'Finds listed bots, public servers, teams and packs. `count_is` is `exact` where `count` is all, as ' +
      'on the last page, and `at_least` where there may be more. Where Postgres lacks the extension ' +
      '`pg_trgm` there is no search: 503 `search_unavailable`.',
    limit: 'search',
    caching: 'list',
    query: ListingSearch,
    replies: { 200: SearchReply },
    errors: ['search_unavailable'],
    handle: async (app, { query }) => {
      const { rows, count, countIs, instead } = await findListings(app, parseSearch(query));
      const results = rows.map(toFound);
      return replyOk<SearchReply>({
        count,
        count_is: countIs,
        per_page: perPage.search,
        instead,
        results,
      });
    },
  }),
]);

/** A tag as `tags` of a search names it: a backslash stands before commas, and before blanks at its ends. */
export const escapeTag = (tag: string): string => tag.replace(/,|^\s|(?<=\\)\s|\s$/gu, '\\$&');

/** Drops the blanks at the ends that no backslash keeps. */
const parseTag = (escaped: string): string => {
  const text = escaped.trimStart();
  const trimmed = text.trimEnd();
  const kept = trimmed.endsWith('\\') ? text.slice(0, trimmed.length + 1) : trimmed;
  return kept.replace(/\\([,\s])/gu, '$1');
};

/** Splits at commas without a backslash before them. */
const splitTags = (text = ''): readonly string[] =>
  text
    .split(/(?<!\\),/)
    .map(parseTag)
    .filter((tag) => tag !== '');

/** The request in the form of the catalogue. Throws `validation_failed` or `page_invalid`. */
export const parseSearch = ({ q = '', kind, tags, sort, page }: ListingSearch): SearchRequest => {
  const words = q
    .toLowerCase()
    .split(/\s+/u)
    .filter((word) => word !== '');
  if (words.length > wordsMax)
    throw createValidationError('query', { '/q': `must have up to ${wordsMax} words` });
  const wanted = splitTags(tags);
  if (wanted.length > tagsMax)
    throw createValidationError('query', { '/tags': `must be up to ${tagsMax} tags` });
  return {
    words,
    tags: wanted,
    kind: kind || null,
    sort: sort || 'votes',
    page: parsePage(page === undefined ? {} : { page }),
  };
};

/** Finds a page of listings. Rejects with `search_unavailable` while there is no index of words. */
export const findListings = async (app: App, request: SearchRequest): Promise<SearchPage> => {
  const page = await app.catalogue.search.find(request);
  if (page !== null) return page;
  throw createUnavailableError(
    'search_unavailable',
    'This directory has no search at the moment: its index is being built, or Postgres lacks pg_trgm.',
    60,
  );
};

const toFound = (row: FoundRow) =>
  showRow(Found, row, {
    target_type: row.kind,
    target_id: row.id,
    servers: row.kind === 'bot' ? toExactInteger(String(row.servers)) : null,
  });
