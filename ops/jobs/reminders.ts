/**
 * Checks the reminders that are due, and queues a push message for each user who may vote again.
 *
 * A vote makes its reminder due at once, since SQL does not know the wait. The first check reads the wait
 * from the engine and moves the due time to its end. An update applies only if no other node has updated the
 * reminder meanwhile, so all nodes may check at the same time. A reminder that cannot be checked (the hot
 * store is away) stays due. Cost: two checks per vote.
 */
import type { Engine } from '../../engine/engine.ts';
import { DomainError } from '../../engine/errors.ts';
import type { DueReminder, Reminders, ReminderUpdate } from '../../storage/catalogue/votes/reminders.ts';

export interface ReminderParts {
  readonly engine: Pick<Engine, 'readVoteStatus'>;
  readonly reminders: Pick<Reminders, 'listDue' | 'recordCheck'>;
  readonly clock: { nowMs(): number };
}

/** Reminders checked in parallel. */
const batchMax = 200;

/** Resolves when no reminder is due. Rejects with the first failure, after checking the rest of its batch. */
export const checkReminders = async (parts: ReminderParts, signal: AbortSignal): Promise<void> => {
  while (!signal.aborted) {
    const due = await parts.reminders.listDue(parts.clock.nowMs(), batchMax);
    const checks = await Promise.allSettled(due.map((reminder) => checkReminder(parts, reminder)));
    const failure = checks.find((result) => result.status === 'rejected');
    if (failure !== undefined) throw failure.reason;
    if (due.length < batchMax) return;
  }
};

const checkReminder = async (parts: ReminderParts, due: DueReminder): Promise<void> => {
  const update = await decideUpdate(parts, due);
  await parts.reminders.recordCheck(due, update);
};

/** Decides from the vote status: check again later, send a message, or do nothing. */
const decideUpdate = async ({ engine, clock }: ReminderParts, due: DueReminder): Promise<ReminderUpdate> => {
  try {
    const { votedAtMs, waitMs, freeAtMs, view } = await engine.readVoteStatus(due.kind, due.id, due.userId);
    if (waitMs > 0) return { kind: 'later', votedAtMs, dueAtMs: freeAtMs };
    const waited = due.votedAtMs > 0;
    const votable = view.state.facts.listed && !view.state.facts.voteBanned && due.welcome;
    return waited && votable ? { kind: 'over', nowMs: clock.nowMs() } : { kind: 'idle' };
  } catch (error) {
    if (error instanceof DomainError && error.code === 'not_found') return { kind: 'idle' };
    throw error;
  }
};
