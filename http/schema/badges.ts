/**
 * Schemas of badges, which are beyond the contract. The JSON is that of shields.io's endpoint badge, which
 * refuses every other member.
 */
import { type Static, Type } from 'typebox';
import { entityKinds } from '../../engine/ids.ts';
import { badgeColor } from '../request/patterns.ts';
import { buildTargetType, TargetId } from './common.ts';

export const BadgeParams = Type.Object({
  target_type: buildTargetType(entityKinds, 'Other kinds get a grey badge that says "unknown".'),
  target_id: TargetId,
  file: Type.String({
    description:
      '`<metric>.svg` is a picture, `<metric>.json` the same for shields.io, `card.svg` a picture with the ' +
      'name and several numbers, `spark-<metric>.svg` a line of the last seven days. Metrics: `votes`, ' +
      '`servers`, `users`, `shards`, `uptime`, `status`, `clicks`, `rank` of bots; `votes`, `users`, ' +
      '`clicks`, `rank` of servers; `votes` of teams and packs.',
    examples: ['votes.svg'],
  }),
});

const buildColor = (what: string, example: string) =>
  Type.String({
    pattern: badgeColor,
    description: `Colour of the ${what}: a name that shields.io knows, or 3 or 6 hexadecimal digits.`,
    examples: [example],
  });

export const BadgeQuery = Type.Object({
  style: Type.Optional(
    Type.Union([Type.Literal('flat'), Type.Literal('flat-square'), Type.Literal('for-the-badge')], {
      description: 'Style of the picture; `flat` if absent.',
      examples: ['flat-square'],
    }),
  ),
  label: Type.Optional(
    Type.String({
      maxLength: 32,
      description: 'Text on the left, up to 32 characters; the name of the metric if absent, none if empty.',
      examples: ['upvotes'],
    }),
  ),
  color: Type.Optional(buildColor('right side', 'brightgreen')),
  label_color: Type.Optional(buildColor('left side', '24292f')),
  compact: Type.Optional(
    Type.Boolean({ description: 'Shortens numbers: 1234 becomes 1.2k.', examples: [true] }),
  ),
});
export type BadgeQuery = Static<typeof BadgeQuery>;

export const BadgeReply = Type.Object(
  {
    schemaVersion: Type.Literal(1, { description: 'Version of the format of shields.io.' }),
    label: Type.String({ description: 'Text on the left; may be empty.' }),
    message: Type.String({ minLength: 1, description: 'Text on the right.' }),
    color: Type.String({ description: 'Colour of the right side.' }),
    labelColor: Type.Optional(Type.String({ description: 'Only with `label_color`.' })),
    isError: Type.Optional(
      Type.Boolean({ description: 'Only when the value is not known; then `message` says why.' }),
    ),
    cacheSeconds: Type.Integer({ minimum: 0, description: 'Seconds for which the badge may be kept.' }),
  },
  {
    additionalProperties: false,
    examples: [{ schemaVersion: 1, label: 'votes', message: '1,234', color: 'blue', cacheSeconds: 300 }],
  },
);
export type BadgeReply = Static<typeof BadgeReply>;
