/**
 * Schemas of reminders (contract §2.19, §4.7).
 */
import { type Static, Type } from 'typebox';
import { entityKinds } from '../../engine/ids.ts';
import { buildTargetType, buildText, TargetId, Timestamp, toNullable, UserId } from './common.ts';
import { buildObject, describe } from './example.ts';

export const RemindersParams = Type.Object({ id: UserId });
export const ReminderParams = Type.Object({
  uid: UserId,
  target_type: buildTargetType(entityKinds),
  target_id: TargetId,
});

export const Reminder = buildObject({
  created_at: describe(Timestamp, 'When the reminder was set.'),
  last_acked: describe(
    toNullable(Timestamp),
    'When a push service last accepted a message of this reminder; `null`: never.',
  ),
  resolved: describe(
    buildObject({
      avatar: buildText(
        'https://cdn.example.org/avatars/815553000470478850.webp',
        'Address of its picture; empty if there is none.',
      ),
      name: buildText('lighthouse', 'Its name.'),
    }),
    'How the entity looks now.',
  ),
  target_id: buildText('815553000470478850', 'Id of the entity to vote for; of a pack its url.'),
  target_type: Type.String({ description: '`bot`, `server`, `team` or `pack`.', examples: ['bot'] }),
  user_id: buildText('728871946456137770', 'Id of the user who is reminded.'),
});
export type Reminder = Static<typeof Reminder>;

export const ReminderList = buildObject({
  reminders: describe(Type.Array(Reminder), 'All reminders of the user, oldest first; up to 200.'),
});
export type ReminderList = Static<typeof ReminderList>;
