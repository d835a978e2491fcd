/**
 * Routes of reminders (contract §4.7).
 */
import { deleteReminder, setReminder, showReminders } from '../handlers/reminders.ts';
import { type Auth, defineRoute, defineRoutes } from '../route.ts';
import { ReminderList, ReminderParams, RemindersParams } from '../schema/reminders.ts';

const ownAuth: Auth = { kind: 'self', user: 'uid' };

export const reminderRoutes = defineRoutes('Reminders', [
  defineRoute({
    name: 'listReminders',
    pattern: 'GET /users/{id}/reminders',
    summary: 'List reminders',
    description: "The user's reminders, oldest first.",
    auth: { kind: 'self', user: 'id' },
    params: RemindersParams,
    replies: { 200: ReminderList },
    handle: (app, { params }) => showReminders(app, params.id),
  }),
  defineRoute({
    name: 'setReminder',
    pattern: 'PUT /users/{uid}/{target_type}/{target_id}/reminders',
    summary: 'Set a reminder',
    description:
      'Reminds the user when they can vote for the entity again: each push subscription of the user ' +
      'gets one message when the wait after a vote ends. Setting it twice changes nothing.',
    auth: ownAuth,
    params: ReminderParams,
    replies: { 200: ReminderList },
    errors: ['not_found', 'limit_reached'],
    handle: (app, { params }) => setReminder(app, params),
  }),
  defineRoute({
    name: 'deleteReminder',
    pattern: 'DELETE /users/{uid}/{target_type}/{target_id}/reminders',
    summary: 'Delete a reminder',
    description: 'The user gets no more messages about this entity.',
    auth: ownAuth,
    params: ReminderParams,
    replies: { 204: null },
    errors: ['not_found'],
    handle: (app, { params }) => deleteReminder(app, params),
  }),
]);
