/**
 * Shows, sets and deletes the reminders of a user. The jobs in ops/jobs find due reminders and send messages.
 */
import type { EntityKind } from '../../engine/ids.ts';
import type { ReminderKey, ReminderRow } from '../../storage/catalogue/votes/reminders.ts';
import { type App, noContent, type Reply, replyOk } from '../route.ts';
import type { Reminder, ReminderList } from '../schema/reminders.ts';
import { createLimitError, createNotFoundError, toTimestamp, toTimestampOrNull } from './convert.ts';
import { toTarget } from './request-values.ts';

interface ReminderPath {
  readonly uid: string;
  readonly target_type: EntityKind;
  readonly target_id: string;
}

const toReminderKey = (path: ReminderPath): ReminderKey => ({ userId: path.uid, ...toTarget(path) });

const toReminder = (row: ReminderRow): Reminder => ({
  created_at: toTimestamp(row.created_at),
  last_acked: toTimestampOrNull(row.last_acked),
  resolved: { avatar: row.avatar, name: row.name },
  target_id: row.target_id,
  target_type: row.target_type,
  user_id: row.user_id,
});

/** `GET /users/{id}/reminders`: oldest first. */
export const showReminders = async (app: App, userId: string): Promise<Reply> => {
  const rows = await app.catalogue.reminders.list(userId);
  return replyOk<ReminderList>({ reminders: rows.map(toReminder) });
};

/**
 * `PUT …/reminders`: idempotent. The reminder of a user who does not wait now is checked once more by the
 * job, because a vote may still be in flight.
 */
export const setReminder = async (app: App, path: ReminderPath): Promise<Reply> => {
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
  if (outcome === 'limit_reached') {
    const message = `You have ${max} reminders, which is the maximum. Delete one first.`;
    throw createLimitError(message, max);
  }
  return showReminders(app, key.userId);
};

/** `DELETE …/reminders`. */
export const deleteReminder = async (app: App, path: ReminderPath): Promise<Reply> => {
  if (await app.catalogue.reminders.remove(toReminderKey(path))) return noContent;
  throw createNotFoundError('reminder');
};
