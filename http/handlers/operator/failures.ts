/**
 * Shows operators the job runs, and the dead letters: rows that SQL refused.
 */
import { type App, type Reply, replyOk } from '../../route.ts';
import { toTimestamp, toTimestampOrNull } from '../convert.ts';

export const showRuns = async (app: App, page: number): Promise<Reply> => {
  const rows = await app.catalogue.operator.failures.listRuns(page);
  return replyOk({
    runs: rows.map((row) => ({
      job: row.name,
      due_at: toTimestamp(row.due_at),
      node: row.node,
      attempts: row.attempts,
      started_at: toTimestamp(row.started_at),
      finished_at: toTimestampOrNull(row.finished_at),
      error: row.error,
    })),
  });
};

export const showDeadLetters = async (app: App, page: number): Promise<Reply> => {
  const rows = await app.catalogue.operator.failures.listDeadLetters(page);
  return replyOk({
    dead_letters: rows.map((row) => ({
      ...row,
      created_at: toTimestamp(row.created_at),
      newest_at: toTimestamp(row.newest_at),
    })),
  });
};
