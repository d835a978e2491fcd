/**
 * Request bodies of packs (contract §4.4).
 */
import { type Static, Type } from 'typebox';
import { packUrl, plainText } from '../request/patterns.ts';
import { PackUrl, UserId } from './common.ts';
import { buildObject, describe } from './example.ts';
import { buildLine, buildProse, buildTags } from './fields.ts';

export const NewPackParams = Type.Object({ id: UserId });
export const OwnPackParams = Type.Object({ uid: UserId, id: PackUrl });

const buildIdList = (description: string, example: string) =>
  Type.Array(Type.String({ minLength: 1, maxLength: 128, pattern: plainText, examples: [example] }), {
    maxItems: 10,
    uniqueItems: true,
    description,
  });
const bots = buildIdList('Ids of bots of this directory, up to 10.', '815553000470478850');
const servers = buildIdList('Ids of servers of this directory, up to 10.', '758641373074423808');
const name = describe(buildLine(3, 20, 'Night owls'), 'Name of the pack, 3 to 20 characters.');
const short = describe(
  buildProse(10, 100, 'Bots for people who never sleep.'),
  'Short description, 10 to 100 characters.',
);
const tags = buildTags(1);

export const PackBody = buildObject(
  {
    bots: Type.Optional(bots),
    name,
    servers: Type.Optional(servers),
    short,
    tags,
    url: Type.String({
      pattern: packUrl,
      description: 'Address of the pack: 3 to 20 of `a-z 0-9 -`, stored in lower case. It never changes.',
      examples: ['night-owls'],
    }),
  },
  { bots: ['815553000470478850'], tags: ['fun'] },
);
export type PackBody = Static<typeof PackBody>;

export const PackEditBody = buildObject(
  {
    bots: Type.Optional(bots),
    name: Type.Optional(name),
    servers: Type.Optional(servers),
    short: Type.Optional(short),
    tags: Type.Optional(tags),
  },
  { short: 'Bots for people who hardly ever sleep.' },
);
export type PackEditBody = Static<typeof PackEditBody>;
