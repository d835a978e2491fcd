/**
 * Looks at the reminders that are due: whose wait is over gets a message into the outbox.
 *
 * A vote makes its reminder due at once, because SQL does not know the wait; the first look asks the engine
 * and moves it to the end. Every look is settled under the condition that nobody was faster, so all nodes
 * may look at the same time. What cannot be looked at now (the hot store is away) stays due. Cost: one look
 * at the vote, one at the end of the wait. Called by jobs.ts; sending is push-messages.ts.
 */
import type { Engine } from '../../engine/engine.ts';
import { DomainError } from '../../engine/errors.ts';
import type { DueReminder, Reminders, ReminderUpdate } from '../../storage/catalogue/votes/reminders.ts';

export interface ReminderParts {
  readonly engine: Pick<Engine, 'readVoteStatus'>;
  readonly reminders: Pick<Reminders, 'listDue' | 'recordVerdict'>;
  readonly clock: { nowMs(): number };
}

/** Reminders looked at together. */
const lookedAtOnceMax = 200;

/** Resolves when nothing is due any more. Rejects with the first failure, after looking at the others. */
export const checkReminders = async (parts: ReminderParts, signal: AbortSignal): Promise<void> => {
  while (!signal.aborted) {
    const due = await parts.reminders.listDue(parts.clock.nowMs(), lookedAtOnceMax);
    const looks = await Promise.allSettled(due.map((one) => checkDue(parts, one)));
    const failure = looks.find((result) => result.status === 'rejected');
    if (failure !== undefined) throw failure.reason;
    if (due.length < lookedAtOnceMax) return;
  }
};

const checkDue = async (parts: ReminderParts, due: DueReminder): Promise<void> => {
  const verdict = await decideReminder(parts, due);
  await parts.reminders.recordVerdict(due, verdict);
};

/** What the engine says of the user's wait, in the words of the reminder. */
const decideReminder = async (
  { engine, clock }: ReminderParts,
  due: DueReminder,
): Promise<ReminderUpdate> => {
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
