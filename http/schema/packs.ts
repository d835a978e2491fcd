/**
 * Schema of packs (contract §2.9).
 */
import { type Static, Type } from 'typebox';
import { Flag, PackUrl, Sum, Text, TextList, Timestamp, User, userExample } from './common.ts';
import { IndexBot, IndexServer, indexBotExample } from './index-entities.ts';

export const PackParams = Type.Object({ id: PackUrl });

export const packExample = {
  bot_ids: ['815553000470478850'],
  bots: [indexBotExample],
  created_at: '2026-01-10T09:30:00.000Z',
  name: 'Night owls',
  owner: userExample,
  server_ids: [],
  servers: [],
  short: 'Bots for people who never sleep.',
  tags: ['fun'],
  url: 'night-owls',
  vote_banned: false,
  votes: 3,
};
export const Pack = Type.Object(
  {
    bot_ids: TextList,
    bots: Type.Array(IndexBot),
    created_at: Timestamp,
    name: Text,
    owner: User,
    server_ids: TextList,
    servers: Type.Array(IndexServer),
    short: Text,
    tags: TextList,
    url: Text,
    vote_banned: Flag,
    votes: Sum,
  },
  { examples: [packExample] },
);
export type Pack = Static<typeof Pack>;
