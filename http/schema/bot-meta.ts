/**
 * What is known about an application before its bot is added (contract §2.7).
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
    buildPlatformId('Id of the bot, for when the look-up service does not answer.'),
  ),
});

export const BotMeta = Type.Object(
  {
    avatar: Text,
    bot_id: Type.String({ description: 'Empty when the application has no bot.' }),
    bot_public: Type.Boolean({ description: 'Anybody may add it to a server; `false` also when unknown.' }),
    client_id: Text,
    description: Text,
    fallback: Type.Boolean({
      description: "The look-up service failed; this comes from the platform's public endpoint.",
    }),
    fetch_errors: Type.Record(Type.String(), Type.String(), {
      description: 'What failed, by `lookup` and `platform`, and why; `bot` when the application has none.',
    }),
    flags: TextList,
    guild_count: Count,
    list_type: Type.String({ description: 'The `type` of the bot in this directory; empty: not listed.' }),
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
