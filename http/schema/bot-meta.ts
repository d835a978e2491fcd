/**
 * Schemas of a bot look-up: what is known about an application before its bot is added (contract §2.7).
 */
import { type Static, Type } from 'typebox';
import { platformId } from '../request/patterns.ts';
import { buildCount, buildText, buildTextList } from './common.ts';
import { buildObject } from './example.ts';

const buildPlatformId = (description: string) =>
  Type.String({ pattern: platformId, description, examples: ['815553000470478850'] });

export const BotMetaParams = Type.Object({
  client_id: buildPlatformId('Id of the application on the platform.'),
});
export const BotMetaQuery = Type.Object({
  fallback_bot_id: Type.Optional(
    buildPlatformId('Id of the bot. It is used if the look-up service does not answer.'),
  ),
});

export const BotMeta = buildObject({
  avatar: buildText(
    'https://cdn.example.org/avatars/815553000470478850.webp',
    'Address of the picture; empty if it is not known.',
  ),
  bot_id: Type.String({
    description: 'Empty when the application has no bot.',
    examples: ['815553000470478850'],
  }),
  bot_public: Type.Boolean({
    description: 'Whether any user may add the bot to a server; also `false` if unknown.',
    examples: [true],
  }),
  client_id: buildText('815553000470478850', 'Id of the application, as in the path.'),
  description: buildText(
    'Keeps watch over your server, day and night.',
    "The application's own words about itself; empty if they are not known.",
  ),
  fallback: Type.Boolean({
    description: "True if the look-up service failed and the platform's public endpoint answered instead.",
  }),
  fetch_errors: Type.Record(Type.String(), Type.String(), {
    description: 'Why the `lookup` service or the `platform` failed; `bot` if the application has no bot.',
  }),
  flags: buildTextList('Marks that the platform gave the account; usually `[]`.', []),
  guild_count: buildCount(
    1200,
    'Servers the bot is in: an estimate of the platform, else as it posted; 0 if unknown.',
  ),
  list_type: Type.String({
    description: 'The `type` of the bot in this directory; empty if the directory does not have it.',
    examples: ['approved'],
  }),
  name: buildText('lighthouse', 'Name of the application; empty if it is not known.'),
  tags: buildTextList('Tags of the application; `[]` if they are not known.', ['moderation']),
});
export type BotMeta = Static<typeof BotMeta>;
