/**
 * One request of a load as the client's log has it: begun when it is sent, ended by its answer or by none.
 */
import { type Answer, NoAnswer } from '../shared/http-client.ts';
import { type ClientLog, nowMs, type Outcome } from './client-log.ts';

/** What an answer (or none) means for a change. */
const toOutcome = (answer: Answer | NoAnswer, done: readonly number[]): Outcome => {
  if (answer instanceof NoAnswer) return answer.sent ? 'unknown' : 'fail';
  if (done.includes(answer.status)) return 'ok';
  return answer.status === 503 && answer.text.includes('"outcome":"unknown"') ? 'unknown' : 'fail';
};

export const beginOperation = (log: ClientLog) => ({
  id: log.nextId++,
  life: log.life,
  callMs: nowMs(),
  returnMs: Number.POSITIVE_INFINITY,
  outcome: 'unknown' as Outcome,
  status: 0,
});

/** `done`: the statuses that acknowledge it. */
export const endOperation = (
  operation: ReturnType<typeof beginOperation>,
  answer: Answer | NoAnswer,
  done: readonly number[],
): void => {
  operation.returnMs = nowMs();
  operation.outcome = toOutcome(answer, done);
  operation.status = answer instanceof NoAnswer ? 0 : answer.status;
};
