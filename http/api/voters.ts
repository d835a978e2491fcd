/**
 * Voters, which are beyond the contract: how often a user voted, and on how many days in a row.
 *
 * What counts is in docs/behaviour.md, "Voters". A read of one entity waits until the engine has flushed it,
 * so that the reply has every acknowledged vote.
 */
import { type Static, Type } from 'typebox';
import type { Target } from '../../engine/ids.ts';
import { computeOffset, perPage } from '../../engine/rules/pages.ts';
import type { CountedVotes, CountQuery } from '../../storage/catalogue/votes/vote-counts.ts';
import type { VoterSummary } from '../../storage/catalogue/votes/voters.ts';
import type { App } from '../app.ts';
import { createUnavailableError } from '../response/errors.ts';
import { type Reply, replyOk, showRow } from '../response/reply.ts';
import { type AnyRoute, definePublicRoute, defineRoute, defineRoutes } from '../route.ts';
import {
  buildCount,
  buildFlag,
  buildPageSchema,
  buildText,
  PageQuery,
  Timestamp,
  toNullable,
  User,
  UserId,
  UserTargetParams,
  VoterFigures,
} from './shared/common.ts';
import { parsePage, toTarget, toUser } from './shared/convert.ts';
import { buildObject, describe } from './shared/example.ts';
import { readFlushedRef, TargetVotesParams } from './votes.ts';

const UserParams = Type.Object({ uid: UserId });

const summary = {
  ...VoterFigures.properties,
  streak_ends_at: toNullable(
    Timestamp,
    'The streak ends then, unless the user votes before; `null` without a streak.',
  ),
  truncated: buildFlag('Whether there are 2,000 votes or more: older ones are not looked at.'),
};
export const VoterSummaryReply = buildObject(summary);

const ListingSummary = buildObject({
  target_type: buildText('bot', '`bot`, `server`, `team` or `pack`.'),
  target_id: buildText('815553000470478850', 'Id of the entity.'),
  voted_at: describe(Timestamp, "When the user's newest vote was cast."),
  ...summary,
});
export const ListingSummaries = buildPageSchema(ListingSummary, perPage.userVotes);
export type ListingSummaries = Static<typeof ListingSummaries>;

export const TopVotersQuery = Type.Object({
  period: Type.Optional(
    Type.Enum(['month', 'all'], {
      description: '`month` for the votes of this month (UTC), `all` for all votes; `month` if absent.',
      examples: ['month'],
    }),
  ),
  ...PageQuery.properties,
});
type TopVotersQuery = Static<typeof TopVotersQuery>;

const TopVoter = buildObject({
  position: Type.Integer({ minimum: 1, maximum: 1_000, description: 'From 1.', examples: [1] }),
  user: describe(User, 'The user who voted.'),
  votes: buildCount(52, 'Votes of the period that count, up and down.'),
  ...VoterFigures.properties,
});
export const TopVotersReply = buildObject({
  count: buildCount(1, 'Places on all pages: at most 1,000.'),
  per_page: buildCount(perPage.boards, 'Places on a full page.'),
  updated_at: describe(Timestamp, 'When the order was made; `times`, `streak` and `longest` are of now.'),
  results: describe(Type.Array(TopVoter), 'Most votes first; `[]` past the end.'),
});
type TopVotersReply = Static<typeof TopVotersReply>;

const dayMs = 86_400_000;
const dayLength = 'yyyy-mm-dd'.length;
const refDaysDefault = 30;

export const RefsQuery = Type.Object({
  days: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 90, description: 'Days up to today (UTC); 30 if absent.' }),
  ),
});
const RefCount = buildObject({
  day: buildText('2026-03-01', 'The day, in UTC.'),
  ref: buildText('newsletter-7', 'As the links said; empty for votes without one.'),
  votes: buildCount(17, 'Votes that count, up and down.'),
});
export const RefsReply = buildObject({
  since: buildText('2026-02-01', 'The first day.'),
  results: describe(Type.Array(RefCount), 'Most votes first.'),
  rest: buildCount(0, 'Votes of these days that are in no result.'),
});
type RefsReply = Static<typeof RefsReply>;

/** Throws `overloaded`. */
const readCounts = async (app: App, query: CountQuery): Promise<CountedVotes> => {
  const counts = await app.catalogue.voters.counts(query, app.clock.nowMs());
  if (counts !== null) return counts;
  throw createUnavailableError('overloaded', "Too many listings' votes are being counted. Try again.", 5);
};

/** `GET …/votes/top`. Throws `overloaded`. */
const showTopVoters = async (app: App, target: Target, query: TopVotersQuery): Promise<Reply> => {
  const page = parsePage(query);
  const nowMs = app.clock.nowMs();
  const ref = await readFlushedRef(app, target.kind, target.id);
  const month = new Date(nowMs).toISOString().slice(0, 'yyyy-mm'.length);
  const since = query.period === 'all' ? '-infinity' : `${month}-01T00:00:00Z`;
  const top = await readCounts(app, { ref, by: 'author', since });
  const offset = computeOffset(page, perPage.boards);
  const places = top.counts.slice(offset, offset + perPage.boards);
  const users = places.map(({ name }) => name);
  const [summaries, people] = await Promise.all([
    app.catalogue.voters.summariesOn({ users, ref }, new Date(nowMs)),
    app.catalogue.findPeople(users),
  ]);
  const results = places.map(({ name: author, votes }, index) => ({
    position: offset + index + 1,
    user: toUser(people.get(author) ?? null, { id: author, bot: false }),
    votes,
    ...pickSummary(summaries[index] as VoterSummary),
  }));
  const updated_at = new Date(top.madeAtMs).toISOString();
  return replyOk<TopVotersReply>({ count: top.counts.length, per_page: perPage.boards, updated_at, results });
};

const pickSummary = ({ times, streak, longest }: VoterSummary) => ({ times, streak, longest });

/** They show what the vote log shows, so the setting VOTE_LOG is for them, too. */
export const closableVoterRoutes: readonly AnyRoute[] = defineRoutes('Beyond the contract', [
  definePublicRoute('listTopVoters', 'GET /{target_type}/{target_id}/votes/top', {
    summary: 'List the users with the most votes',
    description:
      'Users by their votes on an entity, in this month or ever; of equal ones first whose newest vote is ' +
      'older. The order is at most a minute old, ten where more than 200,000 votes count.',
    limit: 'vote_log',
    params: TargetVotesParams,
    query: TopVotersQuery,
    replies: { 200: TopVotersReply },
    handle: (app, { params, query }) => showTopVoters(app, toTarget(params), query),
  }),
  definePublicRoute('listRefs', 'GET /{target_type}/{target_id}/votes/refs', {
    summary: 'Count votes by where they came from',
    description:
      'The votes of each day (UTC) by the `ref` of the link that led to them: the 1,000 largest counts. ' +
      'They are at most a minute old, ten where more than 200,000 votes count.',
    limit: 'vote_log',
    params: TargetVotesParams,
    query: RefsQuery,
    replies: { 200: RefsReply },
    handle: async (app, { params, query: { days = refDaysDefault } }) => {
      const target = toTarget(params);
      const since = new Date(app.clock.nowMs() - (days - 1) * dayMs).toISOString().slice(0, dayLength);
      const ref = await readFlushedRef(app, target.kind, target.id);
      const { counts, votes } = await readCounts(app, { ref, by: 'ref', since: `${since}T00:00:00Z` });
      const results = counts.map(({ name, votes }) => {
        return { day: name.slice(0, dayLength), ref: name.slice(dayLength + 1), votes };
      });
      const shown = counts.reduce((sum, count) => sum + count.votes, 0);
      return replyOk<RefsReply>({ since, results, rest: votes - shown });
    },
  }),
]);

const ownRoutes = defineRoutes('Beyond the contract', [
  definePublicRoute('getVoterSummary', 'GET /users/{uid}/{target_type}/{target_id}/votes/summary', {
    summary: 'Sum up the votes of a user on an entity',
    description:
      'How often the user voted, and on how many days in a row. The monthly reset and redeems change none ' +
      'of it; votes that the operator voided count nowhere.',
    limit: 'vote_log',
    params: UserTargetParams,
    replies: { 200: VoterSummaryReply },
    handle: async (app, { params }) => {
      const target = toTarget(params);
      const ref = await readFlushedRef(app, target.kind, target.id);
      const at = new Date(app.clock.nowMs());
      const [row] = await app.catalogue.voters.summariesOn({ users: [params.uid], ref }, at);
      return replyOk(showRow(VoterSummaryReply, row as VoterSummary));
    },
  }),
  defineRoute('listVoterSummaries', 'GET /users/{uid}/votes/summary', {
    summary: 'Sum up all votes of a user',
    description:
      'The entities that the user voted on, 10 per page, those with the newest vote first; the first 1,000 ' +
      'by kind and id. Votes of the last second may be missing.',
    auth: { kind: 'self', user: 'uid' },
    limit: 'vote_log',
    params: UserParams,
    query: PageQuery,
    replies: { 200: ListingSummaries },
    handle: async (app, { params, query }) => {
      const options = { page: parsePage(query), at: new Date(app.clock.nowMs()) };
      const { count, rows } = await app.catalogue.voters.summaries(params.uid, options);
      const results = rows.map((row) => showRow(ListingSummary, row));
      return replyOk<ListingSummaries>({ count, per_page: perPage.userVotes, results });
    },
  }),
]);

export const voterRoutes: readonly AnyRoute[] = [...ownRoutes, ...closableVoterRoutes];
