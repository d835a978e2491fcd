/**
 * Request bodies of packs (contract §4.4).
 */
import { type Static, Type } from 'typebox';
import { packUrl, plainText } from '../request/patterns.ts';
import { PackUrl, UserId } from './common.ts';
import { buildObject } from './example.ts';
import { buildLine, buildProse, buildTags } from './fields.ts';

export const NewPackParams = Type.Object({ id: UserId });
export const OwnPackParams = Type.Object({ uid: UserId, id: PackUrl });

const buildIdList = (example: string) =>
  Type.Array(Type.String({ minLength: 1, maxLength: 128, pattern: plainText, examples: [example] }), {
    maxItems: 10,
    uniqueItems: true,
  });
const bots = buildIdList('815553000470478850');
const servers = buildIdList('758641373074423808');
const name = buildLine(3, 20, 'Night owls');
const short = buildProse(10, 100, 'Bots for people who never sleep.');
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
      description: 'The url of the pack; stored in lower case.',
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
