/**
 * Schemas of a bot look-up: what is known about an application before its bot is added (contract §2.7).
 */
import { type Static, Type } from 'typebox';
import { platformId } from '../request/patterns.ts';
import { Count, Text, TextList } from './common.ts';

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

export const BotMeta = Type.Object(
  {
    avatar: Text,
    bot_id: Type.String({ description: 'Empty when the application has no bot.' }),
    bot_public: Type.Boolean({
      description: 'Whether any user may add the bot to a server; also `false` if unknown.',
    }),
    client_id: Text,
    description: Text,
    fallback: Type.Boolean({
      description: "True if the look-up service failed and the platform's public endpoint answered instead.",
    }),
    fetch_errors: Type.Record(Type.String(), Type.String(), {
      description: 'Why the `lookup` service or the `platform` failed; `bot` if the application has no bot.',
    }),
    flags: TextList,
    guild_count: Count,
    list_type: Type.String({
      description: 'The `type` of the bot in this directory; empty if the directory does not have it.',
    }),
    name: Text,
    tags: TextList,
  },
  {
    examples: [
      {
        avatar: 'https://cdn.example.org/avatars/815553000470478850.webp',
        bot_id: '815553000470478850',
        bot_public: true,
        client_id: '815553000470478850',
        description: 'Keeps watch over your server, day and night.',
        fallback: false,
        fetch_errors: {},
        flags: [],
        guild_count: 1200,
        list_type: 'approved',
        name: 'lighthouse',
        tags: ['moderation'],
      },
    ],
  },
);
export type BotMeta = Static<typeof BotMeta>;
