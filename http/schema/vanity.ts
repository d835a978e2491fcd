/**
 * Schemas of vanity codes (contract §2.17, §4.9).
 */
import { type Static, Type } from 'typebox';
import { vanityKinds } from '../../engine/rules/vanity.ts';
import { itagText, plainText, uuidText } from '../request/patterns.ts';
import { buildTargetParams, buildText, Timestamp, Uuid } from './common.ts';
import { buildObject, describe } from './example.ts';

export const VanityParams = Type.Object({
  code: Type.String({
    minLength: 1,
    maxLength: 128,
    pattern: plainText,
    description: 'A vanity code (upper and lower case are the same), or the id of a bot, server or team.',
    examples: ['keepers'],
  }),
});
const uuid = new RegExp(uuidText);
export const isUuid = (text: string): boolean => uuid.test(text);
export const VanityQuery = Type.Object({
  itag: Type.Optional(
    Type.String({
      pattern: itagText,
      description: 'A UUID is looked up as an itag. `true` means that the code in the path is the itag.',
      examples: ['018f3b7e-7c1a-7d52-9d1e-2f6b1f6f7a14'],
    }),
  ),
});
export type VanityQuery = Static<typeof VanityQuery>;

export const Vanity = describe(
  buildObject({
    code: buildText('keepers', 'The vanity code: 2 to 32 of `a-z 0-9 - _`.'),
    created_at: describe(Timestamp, 'When the entity got its first vanity code.'),
    itag: describe(Uuid, 'Id of the vanity code; it stays when the code changes.'),
    target_id: buildText('018f3b7e-7c1a-7d52-9d1e-2f6b1f6f7a10', 'Id of the entity that has the code.'),
    target_type: buildText('team', '`bot`, `server` or `team`.'),
  }),
  'A short address, and the entity that has it.',
);
export type Vanity = Static<typeof Vanity>;

export const VanityTargetParams = buildTargetParams(vanityKinds);
export const VanityBody = buildObject({
  code: Type.String({
    maxLength: 128,
    description: '2 to 32 characters of `a-z 0-9 - _`; upper case is changed to lower case.',
    examples: ['keepers'],
  }),
});
