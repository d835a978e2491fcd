/**
 * Schemas of reminders (contract §2.19, §4.7).
 */
import { type Static, Type } from 'typebox';
import { TargetId, TargetType, Text, Timestamp, toNullable, UserId } from './common.ts';

export const RemindersParams = Type.Object({ id: UserId });
export const ReminderParams = Type.Object({ uid: UserId, target_type: TargetType, target_id: TargetId });

export const Reminder = Type.Object({
  created_at: Timestamp,
  last_acked: toNullable(
    Type.String({
      format: 'date-time',
      description: 'When a push service last accepted a message of this reminder.',
    }),
  ),
  resolved: Type.Object({ avatar: Text, name: Text }),
  target_id: Text,
  target_type: Type.String({ description: '`bot`, `server`, `team` or `pack`.' }),
  user_id: Text,
});
export type Reminder = Static<typeof Reminder>;

export const ReminderList = Type.Object(
  { reminders: Type.Array(Reminder) },
  {
    examples: [
      {
        reminders: [
          {
            created_at: '2026-03-01T12:00:00.000Z',
            last_acked: null,
            resolved: {
              avatar: 'https://cdn.example.org/avatars/815553000470478850.webp',
              name: 'lighthouse',
            },
            target_id: '815553000470478850',
            target_type: 'bot',
            user_id: '728871946456137770',
          },
        ],
      },
    ],
  },
);
export type ReminderList = Static<typeof ReminderList>;
