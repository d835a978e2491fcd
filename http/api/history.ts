/**
 * The history of a listing, as JSON or CSV: its numbers over time.
 *
 * Equal requests get the same bytes until the next sample, without a look at SQL but for the times that
 * have values. Counts no click.
 */
import { type Static, Type } from 'typebox';
import type { EntityRef, Target } from '../../engine/ids.ts';
import type { HistoryTimes } from '../../storage/catalogue/catalogue.ts';
import type { App } from '../app.ts';
import { createValidationError } from '../response/errors.ts';
import { type Reply, replyOk } from '../response/reply.ts';
import { type AnyRoute, definePublicRoute, defineRoutes } from '../route.ts';
import {
  buildSeries,
  listSteps,
  listTimes,
  parseMetrics,
  type Range,
  renderCsv,
  renderSeries,
  type SeriesInput,
  type ShownMetric,
  type Step,
  selectStep,
} from './history/history-points.ts';
import { buildCount, buildFlag, buildText, wide } from './shared/common.ts';
import { toTarget } from './shared/convert.ts';
import { buildObject } from './shared/example.ts';
import { plainText } from './shared/patterns.ts';
import { TargetVotesParams } from './votes.ts';

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
    buildFlag(
      'Whether clicks and `votes_logged` are changes since the point before instead of totals.',
      true,
    ),
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

const buildIntegers = (description: string, form: Parameters<typeof Type.Integer>[0] = {}) =>
  Type.Optional(Type.Array(Type.Union([Type.Integer(form), Type.Null()]), { description }));

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
        servers: buildIntegers('Servers of the bot.', wide),
        users: buildIntegers('Users of the bot.', wide),
        shards: buildIntegers('Shards of the bot.', wide),
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
  month: buildText('2026-02', 'Year and month, in UTC.'),
  upvotes: buildCount(120, 'Votes up that were cast in the month.'),
  downvotes: buildCount(4, 'Votes down that were cast in the month.'),
  voters: buildCount(88, 'Different users who voted.'),
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

export const historyRoutes: readonly AnyRoute[] = defineRoutes('Beyond the contract', [
  definePublicRoute('getHistory', 'GET /{target_type}/{target_id}/history', {
    summary: 'Show numbers over time',
    description:
      'Each point has the value at its time. Where no sample ran, it is `null`. A range of more than 1,000 ' +
      'points gets 400 `range_too_long` with the step that fits.',
    limit: 'history',
    caching: 'list',
    params: TargetVotesParams,
    query: HistoryQuery,
    replies: { 200: HistoryReply },
    table: HistoryTable,
    errors: ['range_too_long'],
    handle: (app, request) => showHistory(app, toTarget(request.params), request),
  }),
  definePublicRoute('getVoteMonths', 'GET /{target_type}/{target_id}/votes/months', {
    summary: 'List votes by month',
    description:
      'All votes that were cast in the month count, whatever became of them later. A month appears some ' +
      'minutes after its end, and a day later once more for late votes; months without votes are left out.',
    limit: 'history',
    params: TargetVotesParams,
    query: VoteMonthsQuery,
    replies: { 200: VoteMonthsReply },
    handle: async (app, { params, query: { limit = monthsDefault } }) => {
      const { kind, id } = toTarget(params);
      const { ref } = await app.engine.read(kind, id);
      return replyOk<VoteMonthsReply>({ results: [...(await app.catalogue.history.months(ref, limit))] });
    },
  }),
]);

const monthsDefault = 12;
const minuteMs = 60_000;
const dayMinutes = 1_440;
const timeShape = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d))?$/;

/** The years 2000 to 2199, as everywhere. */
const [minuteMin, minuteMax] = [Date.UTC(2000, 0) / minuteMs, Date.UTC(2200, 0) / minuteMs];

/** Whether the calendar has this date: `Date.parse` takes February 30 for March 2. */
const isDate = (text: string): boolean => {
  const day = Date.parse(text);
  return !Number.isNaN(day) && new Date(day).toISOString().startsWith(text);
};

const parseTime = (name: string, text: string): number => {
  const isTime = timeShape.test(text) && isDate(text.slice(0, 'yyyy-mm-dd'.length));
  const minute = isTime ? Date.parse(text) / minuteMs : Number.NaN;
  if (minute >= minuteMin && minute < minuteMax) return minute;
  const message = 'must be a time such as 2026-03-01T12:00:00Z or a date, of the years 2000 to 2199';
  throw createValidationError('query', { [name]: message });
};

/**
 * Without `from`, a day up to `to`; without `to`, up to the newest sample. So a client that requests what
 * came after its last point gets a range, also before the next sample.
 */
const parseRange = (query: HistoryQuery, newest: number): Range => {
  const since = query.from === undefined ? null : parseTime('/from', query.from);
  const to = query.to === undefined ? Math.max(newest, since ?? 0) : parseTime('/to', query.to);
  const from = since ?? to - dayMinutes;
  if (from <= to) return { from, to };
  throw createValidationError('query', { '/from': 'must not be later than "to"' });
};

interface HistoryRequest {
  readonly ref: EntityRef;
  readonly metrics: readonly ShownMetric[];
  readonly range: Range;
  readonly step: Step;
  readonly change: boolean;
  readonly format: 'json' | 'csv';
}

const readBody = async (app: App, request: HistoryRequest, times: HistoryTimes): Promise<() => string> => {
  const { level } = request.step;
  const points = listTimes(request.range, request.step);
  const [from = 0] = points;
  const to = points.at(-1) ?? 0;
  const rows = points.length === 0 ? [] : await app.catalogue.history.rows(request.ref, { level, from, to });
  return () => renderBody(request, { times: points, rows, known: new Set(times[level]) });
};

const renderBody = (
  { ref, metrics, range, step, change, format }: HistoryRequest,
  points: Pick<SeriesInput, 'times' | 'rows' | 'known'>,
): string => {
  const { times } = points;
  const series = buildSeries({ ...points, metrics, change });
  if (format === 'csv') return renderCsv({ times, series });
  const text = (minute: number): string => new Date(minute * minuteMs).toISOString();
  const head = { target_type: ref.kind, target_id: ref.id, step: step.name };
  const bounds = { from: text(range.from), to: text(range.to) };
  return `${JSON.stringify({ ...head, ...bounds }).slice(0, -1)},${renderSeries({ times, series })}}`;
};

/** Equal keys mean equal bytes: what expired is no longer in `times`, and what is rolled up is. */
const toKey = ({ ref, metrics, range, step, change, format }: HistoryRequest, times: HistoryTimes) => {
  const values = times[step.level];
  const { from, to } = range;
  return [ref.incarnation, step.name, from, to, change, format, values.length, values.at(-1), metrics].join(
    ' ',
  );
};

/** The next sample may change the reply; without samples, a reply is fresh for this long at most. */
const ageMaxSeconds = 300;

const computeAge = (app: App, newest: number): number => {
  const nextMs = (newest + app.settings.historyFineMinutes) * minuteMs;
  const seconds = Math.ceil((nextMs - app.clock.nowMs()) / 1_000);
  return Math.min(ageMaxSeconds, Math.max(1, seconds));
};

/** `GET …/history`. */
const showHistory = async (
  app: App,
  target: Target,
  { query, prefersCsv }: { query: HistoryQuery; prefersCsv: boolean },
): Promise<Reply> => {
  const metrics = parseMetrics(target.kind, query.metrics);
  const { ref } = await app.engine.read(target.kind, target.id);
  const times = await app.catalogue.history.times();
  const newest = times.newest || Math.floor(app.clock.nowMs() / minuteMs);
  const range = parseRange(query, newest);
  const step = selectStep(listSteps(app.settings), query.step ?? 'auto', { range, nowMinute: newest });
  const { change = false, format = prefersCsv ? 'csv' : 'json' } = query;
  const request = { ref, metrics, range, step, change, format };
  const body = await app.history.get(toKey(request, times), () => readBody(app, request, times));
  return {
    status: 200,
    ...body,
    headers: {
      'Content-Type': format === 'csv' ? 'text/csv; charset=utf-8; header=present' : 'application/json',
      'Cache-Control': `public, max-age=${computeAge(app, newest)}`,
      ...(query.format === undefined && { Vary: 'Accept' }),
    },
  };
};
