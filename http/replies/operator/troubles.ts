/**
 * Runs of jobs and rows that SQL refused, as operators see them.
 */
import { type App, ok, type Reply } from '../../route.ts';
import { timestamp, timestampOrNull } from '../values.ts';

export const showRuns = async (app: App, page: number): Promise<Reply> => {
  const rows = await app.catalogue.operator.troubles.runs(page);
  return ok({
    runs: rows.map((row) => ({
      job: row.name,
      due_at: timestamp(row.due_at),
      node: row.node,
      attempts: row.attempts,
      started_at: timestamp(row.started_at),
      finished_at: timestampOrNull(row.finished_at),
      error: row.error,
    })),
  });
};

export const showDeadLetters = async (app: App, page: number): Promise<Reply> => {
  const rows = await app.catalogue.operator.troubles.deadLetters(page);
  return ok({
    dead_letters: rows.map((row) => ({
      ...row,
      created_at: timestamp(row.created_at),
      newest_at: timestamp(row.newest_at),
    })),
  });
};
