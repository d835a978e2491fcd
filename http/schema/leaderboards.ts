/**
 * Schemas of leaderboards and ranks, which are beyond the contract.
 */
import { type Static, type TSchema, Type } from 'typebox';
import { rankedKinds } from '../../engine/rules/boards.ts';
import { perPage } from '../../engine/rules/pages.ts';
import { buildCount, buildTargetParams, buildText, Timestamp, toNullable } from './common.ts';
import { buildObject, describe, findExample } from './example.ts';
import { IndexBot, IndexServer } from './index-entities.ts';

export const LeaderboardParams = Type.Object({
  kind: Type.String({
    minLength: 1,
    maxLength: 32,
    description: '`bot` or `server`; a trailing `s` is accepted. Others get 404.',
    examples: ['bots'],
  }),
  board: Type.String({
    minLength: 1,
    maxLength: 32,
    description:
      '`votes`, `votes-last-month`, `votes-ever`, `unique-clicks-week`, `trending`, `newcomers`; of bots ' +
      'also `growth-week` and `uptime`. Others get 404.',
    examples: ['votes'],
  }),
});

const buildPlaceSchema = <Entity extends TSchema>(entity: Entity) =>
  Type.Object({
    position: Type.Integer({ minimum: 1, maximum: 1_000, description: 'From 1, without holes or doubles.' }),
    change: describe(
      toNullable(Type.Integer()),
      'Places gained since the day before (UTC); `null` if it was not among the first 1,000 then.',
    ),
    score: Type.Number({ description: 'What the board counts; beyond 2^53 it is rounded to 53 bits.' }),
    ratio: describe(
      toNullable(Type.Number()),
      'Only on `growth-week`: the score divided by the servers a week ago; else `null`.',
    ),
    entity: describe(entity, 'The bot or server, as lists show it.'),
  });

const placeExample = { position: 1, change: 2, score: 41, ratio: null, entity: findExample(IndexBot) };
export const LeaderboardReply = describe(
  Type.Object(
    {
      count: Type.Integer({ minimum: 0, maximum: 1_000, description: 'Places on all pages.' }),
      per_page: buildCount(perPage.boards, 'Places on a full page.'),
      updated_at: describe(
        toNullable(Timestamp),
        'When this edition of the board was made; `null` before the first one.',
      ),
      results: Type.Union(
        [Type.Array(buildPlaceSchema(IndexBot)), Type.Array(buildPlaceSchema(IndexServer))],
        { description: 'The places of this page, best first; without those that are no longer listed.' },
      ),
    },
    {
      examples: [
        {
          count: 1,
          per_page: perPage.boards,
          updated_at: '2026-03-01T12:00:00.000Z',
          results: [placeExample],
        },
      ],
    },
  ),
  'One page of a leaderboard.',
);
export type LeaderboardReply = Static<typeof LeaderboardReply>;

export const RankParams = buildTargetParams(rankedKinds);

const Rank = Type.Object({
  position: Type.Integer({ minimum: 1, description: 'Its place on the board, from 1.' }),
  of: Type.Integer({ minimum: 0, description: 'How many listings are on the board.' }),
  exact: Type.Boolean({
    description: 'Whether the position is that of the board; else it is right within 0.1 % of `of`.',
  }),
});
const rankExample = { position: 12, of: 4_210, exact: true };
const buildRank = (board: string) =>
  describe(toNullable(Rank), `Rank on the board \`${board}\`; \`null\` without a position there.`);

export const RankReply = describe(
  buildObject(
    {
      target_type: buildText('bot', '`bot` or `server`.'),
      target_id: buildText('815553000470478850', 'Id of the bot or server.'),
      votes: buildRank('votes'),
      votes_last_month: buildRank('votes-last-month'),
      votes_ever: buildRank('votes-ever'),
      unique_clicks_week: buildRank('unique-clicks-week'),
      growth_week: buildRank('growth-week'),
      trending: buildRank('trending'),
      newcomers: buildRank('newcomers'),
      uptime: buildRank('uptime'),
    },
    {
      votes: rankExample,
      votes_last_month: { position: 9, of: 3_977, exact: true },
      votes_ever: rankExample,
      unique_clicks_week: { position: 2_031, of: 3_100, exact: false },
      growth_week: null,
      trending: rankExample,
      newcomers: null,
      uptime: null,
    },
  ),
  'The positions of one bot or server on all leaderboards.',
);
export type RankReply = Static<typeof RankReply>;
