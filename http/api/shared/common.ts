/**
 * Schemas that many sections share: field kinds, the generic reply, users, pages, targets.
 *
 * An object of a reply always has all its fields: an unset timestamp, UUID or user is `null`, an unset string
 * is `""` and an unset integer is 0 (docs/behaviour.md, "Replies").
 */
import { type Static, type TSchema, Type } from 'typebox';
import { entityKinds } from '../../../engine/ids.ts';
import { limits } from '../../../engine/limits.ts';
import { buildObject, buildPicture, describe, describeObject } from './example.ts';
import { countText, plainText } from './patterns.ts';

export const Timestamp = Type.String({
  format: 'date-time',
  description: 'Timestamp in RFC 3339 format, UTC, with milliseconds.',
  examples: ['2026-03-01T12:00:00.000Z'],
});

/** A timestamp in a request: what request/formats.ts accepts. */
export const buildInputTime = (description: string) =>
  Type.String({
    format: 'date-time',
    description: `${description} RFC 3339, in the years 2000 to 2199.`,
    examples: ['2026-03-01T12:00:00.000Z'],
  });

export const Uuid = Type.String({
  format: 'uuid',
  description: 'A UUID.',
  examples: ['018f3b7e-7c1a-7d52-9d1e-2f6b1f6f7a10'],
});

/** `{ description }`, or nothing: an absent description is no member. */
const toDescription = (description: string | undefined) => (description === undefined ? {} : { description });

/** Builds the schema of a value that may be `null`. */
export const toNullable = <Schema extends TSchema>(schema: Schema, description?: string) =>
  Type.Union([schema, Type.Null()], toDescription(description));

export const Text = Type.String();

/** Text with an example. */
export const buildText = (example: string, description?: string) =>
  Type.String({ ...toDescription(description), examples: [example] });

export const Flag = Type.Boolean();

export const buildFlag = (description: string, example = false) =>
  Type.Boolean({ description, examples: [example] });

export const TextList = Type.Array(Type.String());

export const buildTextList = (description: string, example: readonly string[]) =>
  Type.Array(Type.String(), { description, examples: [example] });

/** A list of permission ids; up to more than there are, duplicates are dropped. */
export const buildPermissionIds = (description: string, example: string) =>
  Type.Array(Type.String({ examples: [example] }), { maxItems: 64, description });

/** A counter; never negative. */
export const Count = Type.Integer({ minimum: 0 });

export const buildCount = (example: number, description?: string) =>
  Type.Integer({ minimum: 0, ...toDescription(description), examples: [example] });

/** Marks an integer of bots for clients whose usual integers are smaller: exact up to `statsIntegerMax`. */
export const wide = { format: 'uint64' } as const;

/** A counter that may be larger than JavaScript's safe integers. */
export const buildWideCount = (example: number, description: string) =>
  Type.Integer({ minimum: 0, ...wide, description, examples: [example] });

/** A position of the vote log in a request. */
export const buildLogPosition = (description: string) =>
  Type.Integer({ minimum: 1, maximum: limits.counterMax, description, examples: [1_042] });

/** Upvotes minus downvotes; may be negative. */
export const Sum = Type.Integer();

export const buildSum = (example: number, description?: string) =>
  Type.Integer({ ...toDescription(description), examples: [example] });

/** Builds the schema of a name or an id: one line of text that is not empty. */
export const buildName = (maxLength: number, description: string, example?: string) =>
  Type.String({
    minLength: 1,
    maxLength,
    pattern: plainText,
    description,
    ...(example !== undefined && { examples: [example] }),
  });

const buildId = (description: string, example: string) => buildName(128, description, example);

export const UserId = buildId('Id of a user.', '728871946456137770');
export const BotId = buildId('Id of a bot.', '815553000470478850');
export const BotIdOrVanity = buildId('Id or vanity code of a bot.', '815553000470478850');
export const ServerIdOrVanity = buildId('Id or vanity code of a server.', '758641373074423808');
export const TeamIdOrVanity = buildId('Id or vanity code of a team.', '018f3b7e-7c1a-7d52-9d1e-2f6b1f6f7a10');
export const PackUrl = buildId('The `url` of a pack; upper and lower case are the same.', 'night-owls');
export const TargetId = buildId('Id of the entity.', '815553000470478850');

/**
 * Builds the schema of a parameter `target_type`. Requests may add an `s`, which request/check.ts drops; the
 * document lists both spellings. `others` says what other kinds get.
 */
export const buildTargetType = <Kind extends string>(
  kinds: readonly Kind[],
  others = 'Other values get 400 `target_type_unsupported`.',
) =>
  Type.Enum<Kind[]>([...kinds], {
    type: 'string',
    description: `Kind of entity; a trailing \`s\` is accepted. ${others}`,
    examples: ['bot'], // The id beside it is that of a bot.
  });

/** The path parameters that name an entity of these kinds. */
export const buildTargetParams = <Kind extends string>(kinds: readonly Kind[]) =>
  Type.Object({ target_type: buildTargetType(kinds), target_id: TargetId });

export const UserParams = Type.Object({ id: UserId });
export const BotIdParams = Type.Object({ id: BotId });

/** The path parameters that name a user and an entity. */
export const UserTargetParams = Type.Object({ uid: UserId, ...buildTargetParams(entityKinds).properties });
export type UserTargetParams = Static<typeof UserTargetParams>;

export const PageQuery = Type.Object({
  page: Type.Optional(
    Type.String({
      pattern: countText,
      description: 'Page number, from 1; 1 if absent. Other values get 400 `page_invalid`.',
      examples: ['1'],
    }),
  ),
});

export const NoParams = Type.Object({});

export const ApiResponse = describeObject('The reply of an operation that only confirms what it did.', {
  message: buildText('Stats recorded.', 'What was done, as a sentence for people. It may change.'),
  context: Type.Record(Type.String(), Type.String(), {
    description: 'Details for programs, by name; `{}` when there are none.',
    examples: [{}],
  }),
});

export const User = describeObject(
  'A person or the account of a bot. People come from their last login, bots from a look-up.',
  {
    avatar: buildText(
      'https://cdn.example.org/avatars/728871946456137770.webp',
      'Address of the picture; empty if there is none.',
    ),
    bot: buildFlag('Whether this is the account of a bot.'),
    display_name: buildText('Robin', 'Name to show; the id while no name is known.'),
    extra_data: Type.Record(Type.String(), Type.Unknown(), {
      description: 'Further facts that the operator imported, by name; usually `{}`.',
    }),
    flags: buildTextList('Marks that the operator or the platform gave the user; usually `[]`.', []),
    id: buildText('728871946456137770', 'Id of the user on the platform.'),
    status: Type.String({
      description:
        '`online`, `idle`, `dnd` or `offline`. For a bot: what it posted last, see `POST /bots/stats`.',
      examples: ['online'],
    }),
    username: buildText('robin', 'Name of the account on the platform; the id while no name is known.'),
  },
);
export type User = Static<typeof User>;

export const VoterFigures = buildObject({
  times: buildCount(41, 'How often the user voted: requests, each once, up or down.'),
  streak: buildCount(7, 'Days (UTC) in a row with a vote, up to today or yesterday; else 0.'),
  longest: buildCount(12, 'The most days in a row so far.'),
});

export const ExtraLink = describeObject('A named link.', {
  name: buildText('Website', 'What the link is called, 1 to 64 characters.'),
  value: buildText('https://example.org', 'An https address of up to 512 characters.'),
});

export const Seo = describeObject('What a search engine or a link preview shows of an entity.', {
  avatar: buildPicture('Address of a picture; empty if there is none.'),
  id: buildText('815553000470478850', 'Id of the entity; the url of a pack, the slug of a post.'),
  name: buildText('lighthouse', 'Name of the entity, or the title of a post.'),
  short: buildText('Keeps watch over your server, day and night.', 'Short description, one or two lines.'),
});
export type Seo = Static<typeof Seo>;

/** Builds the schema of one page of a list; `count` is the number of results on all pages. */
export const buildPageSchema = <Item extends TSchema>(item: Item, perPage: number) =>
  buildObject({
    count: buildCount(1, 'How many results there are on all pages together.'),
    per_page: buildCount(perPage, 'The most results on one page.'),
    results: describe(Type.Array(item), 'The results of this page; `[]` past the end.'),
  });
