/**
 * Reminders of a user (contract §2.19, §4.7). The jobs in ops/jobs find due reminders and send messages.
 */
import { type Static, Type } from 'typebox';
import type { ReminderKey, ReminderRow } from '../../storage/catalogue/votes/reminders.ts';
import type { App } from '../app.ts';
import type { Auth } from '../auth/auth.ts';
import { createLimitError, createNotFoundError } from '../response/errors.ts';
import { noContent, type Reply, replyOk, showRow } from '../response/reply.ts';
import { defineRoute, defineRoutes } from '../route.ts';
import { buildText, Timestamp, toNullable, UserParams, UserTargetParams } from './shared/common.ts';
import { toTarget } from './shared/convert.ts';
import { buildObject, buildPicture, describe, describeObject } from './shared/example.ts';

export const Reminder = buildObject({
  created_at: describe(Timestamp, 'When the reminder was set.'),
  last_acked: toNullable(
    Timestamp,
    'When a push service last accepted a message of this reminder; `null`: never.',
  ),
  resolved: describeObject('How the entity looks now.', {
    avatar: buildPicture('Address of its picture; empty if there is none.'),
    name: buildText('lighthouse', 'Its name.'),
  }),
  target_id: buildText('815553000470478850', 'Id of the entity to vote for; of a pack its url.'),
  target_type: buildText('bot', '`bot`, `server`, `team` or `pack`.'),
  user_id: buildText('728871946456137770', 'Id of the user who is reminded.'),
});

export const ReminderList = buildObject({
  reminders: describe(Type.Array(Reminder), 'All reminders of the user, oldest first; up to 200.'),
});
export type ReminderList = Static<typeof ReminderList>;
const ownAuth: Auth = { kind: 'self', user: 'uid' };

export const reminderRoutes = defineRoutes('Reminders', [
  defineRoute('listReminders', 'GET /users/{id}/reminders', {
    summary: 'List reminders',
    description: "The user's reminders, oldest first.",
    auth: { kind: 'self', user: 'id' },
    params: UserParams,
    replies: { 200: ReminderList },
    handle: (app, { params }) => showReminders(app, params.id),
  }),
  defineRoute('setReminder', 'PUT /users/{uid}/{target_type}/{target_id}/reminders', {
    summary: 'Set a reminder',
    description:
      'Reminds the user when they can vote for the entity again: each push subscription of the user ' +
      'gets one message when the wait after a vote ends. Setting it twice changes nothing.',
    auth: ownAuth,
    params: UserTargetParams,
    replies: { 200: ReminderList },
    errors: ['limit_reached'],
    handle: (app, { params }) => setReminder(app, params),
  }),
  defineRoute('deleteReminder', 'DELETE /users/{uid}/{target_type}/{target_id}/reminders', {
    summary: 'Delete a reminder',
    description: 'The user gets no more messages about this entity.',
    auth: ownAuth,
    params: UserTargetParams,
    replies: { 204: null },
    handle: async (app, { params }) => {
      if (await app.catalogue.reminders.remove(toReminderKey(params))) return noContent;
      throw createNotFoundError('reminder');
    },
  }),
]);

const toReminderKey = (path: UserTargetParams): ReminderKey => ({ userId: path.uid, ...toTarget(path) });

const toReminder = (row: ReminderRow) =>
  showRow(Reminder, row, { resolved: { avatar: row.avatar, name: row.name } });

/** `GET /users/{id}/reminders`: oldest first. */
export const showReminders = async (app: App, userId: string): Promise<Reply> => {
  const rows = await app.catalogue.reminders.list(userId);
  return replyOk<ReminderList>({ reminders: rows.map(toReminder) });
};

/**
 * `PUT …/reminders`: idempotent. The reminder of a user who does not wait now is checked once more by the
 * job, because a vote may still be in flight.
 */
export const setReminder = async (app: App, path: UserTargetParams): Promise<Reply> => {
  const key = toReminderKey(path);
  const max = app.settings.remindersPerUserMax;
  const { waitMs, votedAtMs, freeAtMs } = await app.engine.readVoteStatus(key.kind, key.id, key.userId);
  const outcome = await app.catalogue.reminders.set(key, {
    nowMs: app.clock.nowMs(),
    votedAtMs: waitMs > 0 ? votedAtMs : 0,
    dueAtMs: freeAtMs,
    max,
  });
  if (outcome === 'not_found') throw createNotFoundError(key.kind);
  if (outcome === 'limit_reached')
    throw createLimitError(`You have ${max} reminders, which is the maximum. Delete one first.`, max);
  return showReminders(app, key.userId);
};
