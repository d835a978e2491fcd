/**
 * Schemas of the feed, which is beyond the contract: its query, and the messages in both directions.
 */
import { type Static, type TSchema, Type } from 'typebox';
import { buildText, buildWideCount, Timestamp, Uuid, VoterFigures } from '../api/shared/common.ts';
import { describe } from '../api/shared/example.ts';

export const FeedQuery = Type.Object({
  targets: Type.Optional(
    Type.String({
      maxLength: 8_192,
      description:
        'What to follow: up to 100 entities as `bot/815553000470478850`, separated by commas. Required but ' +
        'for a WebSocket, which can subscribe later.',
      examples: ['bot/815553000470478850,server/1120439211'],
    }),
  ),
  channels: Type.Optional(
    Type.String({
      maxLength: 64,
      description:
        '`totals`, `votes`, or both, separated by a comma; `totals` if absent. With `voter` in place of ' +
        '`votes` each vote says what its author had done by then.',
      examples: ['totals,votes'],
    }),
  ),
  last_event_id: Type.Optional(
    Type.String({
      maxLength: 8_192,
      description:
        'The id of the last event that the client has, for clients that cannot send the header ' +
        '`Last-Event-ID`, which wins. Votes after it follow.',
      examples: ['0-1x.1042,0-2b.77'],
    }),
  ),
  lastEventId: Type.Optional(
    Type.String({
      maxLength: 8_192,
      description: 'The same, as replacements of `EventSource` add it to the address. It wins over that.',
      examples: ['0-1x.1042,0-2b.77'],
    }),
  ),
});
const target = buildText('bot/815553000470478850', 'Kind and id.');
const integer = (description: string) => Type.Integer({ minimum: 0, description });
const cursor = (description: string) => Type.String({ description, examples: ['0-1x.1042'] });

/** Those that only bots have are absent elsewhere. */
const FeedTotals = Type.Object(
  {
    votes: Type.Integer({ description: 'Upvotes minus downvotes.' }),
    clicks: integer('Page views.'),
    unique_clicks: integer('Visitors.'),
    invite_clicks: integer('Clicks on the invite.'),
    servers: Type.Optional(buildWideCount(1200, 'As posted.')),
    users: Type.Optional(buildWideCount(90210, 'As posted.')),
    shards: Type.Optional(buildWideCount(2, 'As posted.')),
    status: Type.Optional(Type.String({ description: '`online`, `idle`, `dnd` or `offline`.' })),
    last_stats_post: Type.Optional(
      Type.Union([Timestamp, Type.Null()], { description: 'When stats were last posted; `null` for never.' }),
    ),
  },
  { description: 'All numbers; those that only bots have are absent elsewhere.' },
);

interface EventAbout {
  readonly means: string;
  readonly data: Readonly<Record<string, TSchema>>;
}

const event = <Name extends string>(name: Name, { means, data }: EventAbout) =>
  Type.Object({
    event: Type.Literal(name, { description: 'What the message is.' }),
    data: Type.Object(data, { description: means }),
  });

/** Every message of the server, as a WebSocket gets it. An event stream has the same two fields. */
export const FeedEvent = Type.Union(
  [
    event('hello', {
      means: 'Comes first.',
      data: {
        heartbeat_seconds: Type.Integer({ description: 'An event stream gets a comment this often.' }),
      },
    }),
    event('totals', {
      means: 'The numbers of an entity as they are now.',
      data: {
        target,
        generation: integer('Grows when versions begin again. Compare it first, then `version`.'),
        version: integer('Grows with every change, within a generation. Equal when only `status` has aged.'),
        totals: FeedTotals,
      },
    }),
    event('vote', {
      means: 'One accepted vote.',
      data: {
        target,
        number: Type.Integer({ minimum: 1, description: 'Position in the log, without holes.' }),
        cursor: cursor('Position of this vote for `after`.'),
        itag: Uuid,
        author: Type.String({ description: 'Id of the user who voted.' }),
        ref: Type.String({ description: 'What the link that led to the vote said; empty for nothing.' }),
        upvote: Type.Boolean({ description: 'False for a downvote.' }),
        created_at: Timestamp,
        void: Type.Boolean({ description: 'Whether it was void when this was sent.' }),
        voter: Type.Optional(describe(VoterFigures, 'With `voter=1`: what the user had done by this vote.')),
      },
    }),
    event('gap', {
      means: 'Votes that are not sent.',
      data: {
        target,
        from_number: Type.Integer({ minimum: 1, description: 'First vote that is not sent.' }),
        to_number: Type.Integer({ minimum: 1, description: 'Last vote that is not sent.' }),
        cursor: cursor('Position of the last one: votes after it follow.'),
        log: Type.String({ description: 'Where they can be read.' }),
      },
    }),
    event('reset', {
      means: 'Something begins again.',
      data: {
        target,
        channel: Type.String({ description: '`totals`: versions begin again. `votes`: numbers do.' }),
        cursor: Type.Optional(cursor('Where the votes go on; only of `votes`.')),
      },
    }),
    event('gone', { means: 'The entity is no longer listed: nothing follows for it.', data: { target } }),
    event('subscribed', {
      means: 'The answer to `subscribe`.',
      data: {
        targets: Type.Array(target, { description: 'What the message named.' }),
        after: Type.Record(Type.String(), cursor('Votes after it follow.'), {
          description: 'Where votes begin, by target.',
        }),
      },
    }),
    event('error', {
      means: 'The answer to a message that cannot be served; nothing changed.',
      data: {
        code: Type.String({ description: 'As in error bodies.' }),
        message: Type.String({ description: 'For people.' }),
        context: Type.Record(Type.String(), Type.String(), { description: 'As in error bodies.' }),
      },
    }),
    event('pong', { means: 'The answer to `ping`.', data: {} }),
    event('bye', {
      means: 'The connection ends.',
      data: {
        reason: Type.String({ description: '`restart`, `gone` or `full`.' }),
        reconnect_after_ms: Type.Integer({ minimum: 0, description: 'When to connect again.' }),
      },
    }),
  ],
  {
    description: 'A message: what it is, and its data.',
    examples: [
      {
        event: 'totals',
        data: {
          target: 'server/1120439211',
          generation: 7,
          version: 5_123,
          totals: { votes: 98, clicks: 15_988, unique_clicks: 9_120, invite_clicks: 310 },
        },
      },
    ],
  },
);

const op = <Name extends string>(name: Name) =>
  Type.Literal(name, { description: 'The name of the request.' });

const targets = Type.Array(Type.String({ maxLength: 80, description: 'Kind and id.' }), {
  minItems: 1,
  maxItems: 100,
  description: 'Entities, as `bot/815553000470478850`.',
});

/** Every message that a WebSocket may send, in at most 16 KiB. */
export const FeedMessage = Type.Union(
  [
    Type.Object(
      {
        op: op('subscribe'),
        targets,
        channels: Type.Optional(
          Type.Array(Type.String({ maxLength: 16, description: '`totals` or `votes`.' }), {
            minItems: 1,
            maxItems: 8,
            description: '`totals` if absent.',
          }),
        ),
        after: Type.Optional(
          Type.Record(Type.String(), Type.String({ maxLength: 64, description: 'A cursor.' }), {
            description: 'By target: votes after this cursor follow; without one, those after the newest.',
          }),
        ),
      },
      { description: 'Follows entities, besides or instead of what it followed of them.' },
    ),
    Type.Object({ op: op('unsubscribe'), targets }, { description: 'Follows these no longer. No answer.' }),
    Type.Object({ op: op('ping') }, { description: 'Is answered by `pong`.' }),
  ],
  {
    description: 'A message of a WebSocket to the server.',
    examples: [
      {
        op: 'subscribe',
        targets: ['bot/815553000470478850'],
        channels: ['totals', 'votes'],
        after: { 'bot/815553000470478850': '0-1x.1042' },
      },
    ],
  },
);
export type FeedMessage = Static<typeof FeedMessage>;
