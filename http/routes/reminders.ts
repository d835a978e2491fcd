/**
 * Rows of reminders (contract §4.7).
 */
import { deleteReminder, reminderKeyOf, setReminder, showReminders } from '../replies/reminders.ts';
import { type AnyRow, type Auth, route } from '../route.ts';
import { ReminderList, ReminderParams, RemindersParams } from '../schema/reminders.ts';

const section = 'Reminders';
const ownAuth: Auth = { word: 'self', user: 'uid' };

export const reminderRows: readonly AnyRow[] = [
  route({
    name: 'listReminders',
    method: 'GET',
    path: '/users/{id}/reminders',
    section,
    summary: "A user's reminders, oldest first.",
    auth: { word: 'self', user: 'id' },
    caching: 'no-store',
    params: RemindersParams,
    replies: { 200: ReminderList },
    errors: [],
    handle: (app, { params }) => showReminders(app, params.id),
  }),
  route({
    name: 'setReminder',
    method: 'PUT',
    path: '/users/{uid}/{target_type}/{target_id}/reminders',
    section,
    summary: 'Reminds the user when he can vote for the entity again.',
    description: 'Each of his push subscriptions gets one message when his wait ends, once per vote.',
    auth: ownAuth,
    caching: 'no-store',
    params: ReminderParams,
    replies: { 200: ReminderList },
    errors: ['target_type_unsupported', 'not_found', 'limit_reached'],
    check: ({ params }) => void reminderKeyOf(params),
    handle: (app, { params }) => setReminder(app, params),
  }),
  route({
    name: 'deleteReminder',
    method: 'DELETE',
    path: '/users/{uid}/{target_type}/{target_id}/reminders',
    section,
    summary: 'Ends a reminder.',
    auth: ownAuth,
    caching: 'no-store',
    params: ReminderParams,
    replies: { 204: null },
    errors: ['target_type_unsupported', 'not_found'],
    check: ({ params }) => void reminderKeyOf(params),
    handle: (app, { params }) => deleteReminder(app, params),
  }),
];
