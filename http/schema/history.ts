/**
 * Schemas of the history of a listing, which is beyond the contract.
 */
import { type Static, Type } from 'typebox';
import { plainText } from '../request/patterns.ts';
import { buildCount } from './common.ts';
import { buildObject } from './example.ts';

const buildTime = (description: string) =>
  Type.String({ maxLength: 40, pattern: plainText, description, examples: ['2026-03-01T00:00:00Z'] });

export const HistoryQuery = Type.Object({
  metrics: Type.Optional(
    Type.String({
      maxLength: 200,
      pattern: plainText,
      description:
        'Names separated by commas; all if absent. Of bots: `servers`, `users`, `shards`, `status`, ' +
        '`clicks`, `unique_clicks`, `invite_clicks`, `votes`, `votes_logged`; of servers: the last five; ' +
        'of teams and packs: the last two.',
      examples: ['servers,votes'],
    }),
  ),
  from: Type.Optional(buildTime('A time or a date; a day before `to` if absent.')),
  to: Type.Optional(buildTime('A time or a date; the newest sample if absent, or `from` if that is later.')),
  step: Type.Optional(
    Type.String({
      maxLength: 8,
      pattern: plainText,
      description:
        'Time between points: `5m` (unless the operator chose other minutes), `1h`, `1d`, or `auto`, which ' +
        'is the finest with up to 500 points; `auto` if absent.',
      examples: ['1h'],
    }),
  ),
  change: Type.Optional(
    Type.Boolean({
      description: 'Whether clicks and `votes_logged` are changes since the point before instead of totals.',
      examples: [true],
    }),
  ),
  format: Type.Optional(
    Type.Union([Type.Literal('json'), Type.Literal('csv')], {
      description: 'If absent, `Accept` decides: `csv` where it prefers `text/csv`, else `json`.',
      examples: ['csv'],
    }),
  ),
});
export type HistoryQuery = Static<typeof HistoryQuery>;

const buildMinute = (description: string) =>
  Type.String({ format: 'date-time', description, examples: ['2026-03-01T00:00:00.000Z'] });
const buildIntegers = (description: string) =>
  Type.Optional(Type.Array(Type.Union([Type.Integer(), Type.Null()]), { description }));

export const HistoryReply = Type.Object(
  {
    target_type: Type.String({ description: 'Kind of the listing.' }),
    target_id: Type.String({ description: 'Id of the listing.' }),
    step: Type.String({ description: 'Time between two points, such as `5m`, `1h` or `1d`.' }),
    from: buildMinute('Begin of the range.'),
    to: buildMinute('End of the range.'),
    times: Type.Array(buildMinute('Time of a point.'), { description: 'The time of each point, in UTC.' }),
    series: Type.Object(
      {
        servers: buildIntegers('Servers of the bot.'),
        users: buildIntegers('Users of the bot.'),
        shards: buildIntegers('Shards of the bot.'),
        status: Type.Optional(
          Type.Array(Type.Union([Type.String(), Type.Null()]), {
            description: 'Presence of the bot: `online`, `idle`, `dnd` or `offline`.',
          }),
        ),
        clicks: buildIntegers('Page views.'),
        unique_clicks: buildIntegers('Visitors who viewed the page.'),
        invite_clicks: buildIntegers('Clicks on the invite.'),
        votes: buildIntegers('Upvotes minus downvotes since the last reset.'),
        votes_logged: buildIntegers('All votes that have a number in the vote log.'),
      },
      { description: 'One value per time; `null` where no sample ran, or the listing did not exist.' },
    ),
  },
  {
    description: 'Numbers of a listing over time.',
    examples: [
      {
        target_type: 'bot',
        target_id: '815553000470478850',
        step: '1h',
        from: '2026-03-01T00:00:00.000Z',
        to: '2026-03-01T02:00:00.000Z',
        times: ['2026-03-01T00:00:00.000Z', '2026-03-01T01:00:00.000Z', '2026-03-01T02:00:00.000Z'],
        series: { servers: [1200, null, 1203], votes: [98, null, 97] },
      },
    ],
  },
);

export const HistoryTable =
  'time,servers,votes\r\n2026-03-01T00:00:00.000Z,1200,98\r\n2026-03-01T01:00:00.000Z,,\r\n';

export const VoteMonthsQuery = Type.Object({
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 120, description: 'Most months in the reply; 12 if absent.' }),
  ),
});

const VoteMonth = buildObject({
  month: Type.String({ description: 'Year and month, in UTC.', examples: ['2026-02'] }),
  upvotes: buildCount(120, 'Votes up that were cast in the month.'),
  downvotes: buildCount(4, 'Votes down that were cast in the month.'),
  voters: Type.Integer({ minimum: 0, description: 'Different users who voted.', examples: [88] }),
  redeemed: Type.Integer({ minimum: 0, description: 'Votes that were redeemed for credits.' }),
  voided: Type.Integer({ minimum: 0, description: 'Votes that an operator voided.' }),
  rank: Type.Union([Type.Integer({ minimum: 1 }), Type.Null()], {
    description:
      'Place among listings of the same kind by upvotes minus downvotes, without voided votes; `null` ' +
      'until it is known.',
    examples: [3],
  }),
});

export const VoteMonthsReply = buildObject({
  results: Type.Array(VoteMonth, { description: 'Months with votes, the newest first.' }),
});
export type VoteMonthsReply = Static<typeof VoteMonthsReply>;
