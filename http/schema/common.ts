/**
 * Schemas that many sections share: field kinds, the generic reply, users, pages, targets.
 *
 * An object of a reply always has all its fields: an unset timestamp, UUID or user is `null`, an unset string
 * is `""` and an unset integer is 0 (docs/behaviour.md, "Replies"). Used by schema and route files only.
 */
import { type Static, type TSchema, Type } from 'typebox';
import { plainText } from '../request/patterns.ts';
import { buildObject } from './example.ts';

export const Timestamp = Type.String({
  format: 'date-time',
  description: 'Timestamp in RFC 3339 format, UTC, with milliseconds.',
  examples: ['2026-03-01T12:00:00.000Z'],
});
export const Uuid = Type.String({
  format: 'uuid',
  examples: ['018f3b7e-7c1a-7d52-9d1e-2f6b1f6f7a10'],
});
/** Builds the schema of a value that may be `null`. */
export const toNullable = <Schema extends TSchema>(schema: Schema) => Type.Union([schema, Type.Null()]);

export const Text = Type.String();
/** Text with an example. */
export const buildText = (example: string) => Type.String({ examples: [example] });
export const Flag = Type.Boolean();
/** A flag whose example is `true`. */
export const TrueFlag = Type.Boolean({ examples: [true] });
export const TextList = Type.Array(Type.String());
/** A counter; never negative. */
export const Count = Type.Integer({ minimum: 0 });
export const buildCount = (example: number) => Type.Integer({ minimum: 0, examples: [example] });
/** Upvotes minus downvotes; may be negative. */
export const Sum = Type.Integer();
export const buildSum = (example: number) => Type.Integer({ examples: [example] });

const buildId = (description: string, example: string) =>
  Type.String({ minLength: 1, maxLength: 128, pattern: plainText, description, examples: [example] });
export const UserId = buildId('Id of a user.', '728871946456137770');
export const BotId = buildId('Id of a bot.', '815553000470478850');
export const BotIdOrVanity = buildId('Id or vanity code of a bot.', '815553000470478850');
export const ServerIdOrVanity = buildId('Id or vanity code of a server.', '758641373074423808');
export const TeamIdOrVanity = buildId('Id or vanity code of a team.', '018f3b7e-7c1a-7d52-9d1e-2f6b1f6f7a10');
export const PackUrl = buildId('The `url` of a pack; upper and lower case are the same.', 'night-owls');
export const TargetId = buildId('Id of the entity.', '815553000470478850');
export const TargetType = Type.String({
  minLength: 1,
  maxLength: 32,
  description: 'Kind of entity; a trailing `s` is accepted. Other values get 400 `target_type_unsupported`.',
  examples: ['bot', 'servers'],
});

export const PageQuery = Type.Object({
  page: Type.Optional(
    Type.String({
      description: 'Page number, from 1; 1 if absent. Other values get 400 `page_invalid`.',
      examples: ['1'],
    }),
  ),
});
export const NoParams = Type.Object({});

export const ApiResponse = buildObject({
  message: buildText('Stats recorded.'),
  context: Type.Record(Type.String(), Type.String()),
});

export const User = buildObject({
  avatar: buildText('https://cdn.example.org/avatars/728871946456137770.webp'),
  bot: Flag,
  display_name: buildText('Robin'),
  extra_data: Type.Record(Type.String(), Type.Unknown()),
  flags: TextList,
  id: buildText('728871946456137770'),
  status: Type.String({ description: '`online`, `idle`, `dnd` or `offline`.', examples: ['online'] }),
  username: buildText('robin'),
});
export type User = Static<typeof User>;

export const ExtraLink = buildObject({
  name: buildText('Website'),
  value: buildText('https://example.org'),
});
export type ExtraLink = Static<typeof ExtraLink>;

export const Seo = buildObject({
  avatar: buildText('https://cdn.example.org/avatars/815553000470478850.webp'),
  id: buildText('815553000470478850'),
  name: buildText('lighthouse'),
  short: buildText('Keeps watch over your server, day and night.'),
});
export type Seo = Static<typeof Seo>;

/** Builds the schema of one page of a list; `count` is the number of results on all pages. */
export const buildPageSchema = <Item extends TSchema>(item: Item, perPage: number) =>
  buildObject({ count: buildCount(1), per_page: buildCount(perPage), results: Type.Array(item) });
