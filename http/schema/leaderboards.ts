/**
 * Schemas of leaderboards and ranks, which are beyond the contract.
 */
import { type Static, type TSchema, Type } from 'typebox';
import { perPage } from '../../engine/rules/pages.ts';
import { buildCount, buildText, Count, TargetId, TargetType, Timestamp, toNullable } from './common.ts';
import { buildObject, findExample } from './example.ts';
import { IndexBot, IndexServer } from './index-entities.ts';

export const LeaderboardParams = Type.Object({
  kind: Type.String({
    minLength: 1,
    maxLength: 32,
    description: '`bot` or `server`; a trailing `s` is accepted.',
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
    change: toNullable(
      Type.Integer({
        description: 'Places gained since the day before (UTC); `null` if it was not on the board then.',
      }),
    ),
    score: Type.Number({ description: 'What the board counts.' }),
    ratio: toNullable(
      Type.Number({
        description: 'Only on `growth-week`: the score divided by the servers a week ago; else `null`.',
      }),
    ),
    entity,
  });

const placeExample = { position: 1, change: 2, score: 41, ratio: null, entity: findExample(IndexBot) };
export const LeaderboardReply = Type.Object(
  {
    count: Type.Integer({ minimum: 0, maximum: 1_000, description: 'Places on all pages.' }),
    per_page: buildCount(perPage.boards),
    updated_at: toNullable(Timestamp),
    results: Type.Union([Type.Array(buildPlaceSchema(IndexBot)), Type.Array(buildPlaceSchema(IndexServer))]),
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
);
export type LeaderboardReply = Static<typeof LeaderboardReply>;

export const RankParams = Type.Object({ target_type: TargetType, target_id: TargetId });

const Rank = Type.Object({
  position: Type.Integer({ minimum: 1 }),
  of: Count,
  exact: Type.Boolean({
    description: 'Whether the position is that of the board; else it is right within 0.1 % of `of`.',
  }),
});
const rankExample = { position: 12, of: 4_210, exact: true };
const OptionalRank = toNullable(Rank);

export const RankReply = buildObject(
  {
    target_type: buildText('bot'),
    target_id: buildText('815553000470478850'),
    votes: OptionalRank,
    votes_last_month: OptionalRank,
    votes_ever: OptionalRank,
    unique_clicks_week: OptionalRank,
    growth_week: OptionalRank,
    trending: OptionalRank,
    newcomers: OptionalRank,
    uptime: OptionalRank,
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
);
export type RankReply = Static<typeof RankReply>;
