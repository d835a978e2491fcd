/**
 * Schemas of reminders (contract §2.19, §4.7).
 */
import { type Static, Type } from 'typebox';
import { buildText, TargetId, TargetType, Timestamp, toNullable, UserId } from './common.ts';
import { buildObject } from './example.ts';

export const RemindersParams = Type.Object({ id: UserId });
export const ReminderParams = Type.Object({ uid: UserId, target_type: TargetType, target_id: TargetId });

export const Reminder = buildObject({
  created_at: Timestamp,
  last_acked: toNullable(
    Type.String({
      format: 'date-time',
      description: 'When a push service last accepted a message of this reminder.',
    }),
  ),
  resolved: buildObject({
    avatar: buildText('https://cdn.example.org/avatars/815553000470478850.webp'),
    name: buildText('lighthouse'),
  }),
  target_id: buildText('815553000470478850'),
  target_type: Type.String({ description: '`bot`, `server`, `team` or `pack`.', examples: ['bot'] }),
  user_id: buildText('728871946456137770'),
});
export type Reminder = Static<typeof Reminder>;

export const ReminderList = buildObject({ reminders: Type.Array(Reminder) });
export type ReminderList = Static<typeof ReminderList>;
