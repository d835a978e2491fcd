/**
 * Schema of packs (contract §2.9).
 */
import { type Static, Type } from 'typebox';
import { buildSum, buildText, Flag, PackUrl, TextList, Timestamp, User } from './common.ts';
import { buildObject } from './example.ts';
import { IndexBot, IndexServer } from './index-entities.ts';

export const PackParams = Type.Object({ id: PackUrl });

export const Pack = buildObject(
  {
    bot_ids: Type.Array(buildText('815553000470478850')),
    bots: Type.Array(IndexBot),
    created_at: Timestamp,
    name: buildText('Night owls'),
    owner: User,
    server_ids: TextList,
    servers: Type.Array(IndexServer),
    short: buildText('Bots for people who never sleep.'),
    tags: TextList,
    url: buildText('night-owls'),
    vote_banned: Flag,
    votes: buildSum(3),
  },
  { servers: [], tags: ['fun'] },
);
export type Pack = Static<typeof Pack>;
