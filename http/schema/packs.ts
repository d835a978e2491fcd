/**
 * Schema of packs (contract §2.9).
 */
import { type Static, Type } from 'typebox';
import { buildFlag, buildSum, buildText, buildTextList, PackUrl, Timestamp, User } from './common.ts';
import { buildObject, describe } from './example.ts';
import { IndexBot, IndexServer } from './index-entities.ts';

export const PackParams = Type.Object({ id: PackUrl });

export const Pack = describe(
  buildObject(
    {
      bot_ids: buildTextList('Ids of its bots, up to 10, also of those that were deleted since.', [
        '815553000470478850',
      ]),
      bots: describe(Type.Array(IndexBot), 'Its bots that still exist, in the order of `bot_ids`.'),
      created_at: describe(Timestamp, 'When the pack was created.'),
      name: buildText('Night owls', 'Name of the pack, 3 to 20 characters.'),
      owner: describe(User, 'The user who owns it and may change it.'),
      server_ids: buildTextList('Ids of its servers, up to 10, also of those that were deleted since.', []),
      servers: describe(
        Type.Array(IndexServer),
        'Its servers that still exist, in the order of `server_ids`.',
      ),
      short: buildText('Bots for people who never sleep.', 'Short description, 10 to 100 characters.'),
      tags: buildTextList('1 to 5 different tags of 3 to 30 characters.', ['fun']),
      url: buildText('night-owls', 'Its address and id: 3 to 20 of `a-z 0-9 -`. It never changes.'),
      vote_banned: buildFlag('Whether the operator has banned it from receiving votes.'),
      votes: buildSum(3, 'Upvotes minus downvotes; may be negative. In lists a few seconds late.'),
    },
    { servers: [] },
  ),
  'A collection of bots and servers that a user made.',
);
export type Pack = Static<typeof Pack>;
