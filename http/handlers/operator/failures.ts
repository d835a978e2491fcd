/**
 * Shows operators the job runs, and the dead letters: rows that SQL refused.
 */
import type { App, Reply } from '../../route.ts';
import { toTimestamp, toTimestampOrNull } from '../convert.ts';
import { replyPage } from './lists.ts';

export const showRuns = async (app: App, page: number): Promise<Reply> => {
  const list = await app.catalogue.operator.failures.listRuns(page);
  const rows = list.rows.map((row) => ({
    job: row.name,
    due_at: toTimestamp(row.due_at),
    node: row.node,
    attempts: row.attempts,
    started_at: toTimestamp(row.started_at),
    finished_at: toTimestampOrNull(row.finished_at),
    error: row.error,
  }));
  return replyPage('runs', { ...list, rows }, page);
};

export const showDeadLetters = async (app: App, page: number): Promise<Reply> => {
  const list = await app.catalogue.operator.failures.listDeadLetters(page);
  const rows = list.rows.map((row) => ({
    ...row,
    created_at: toTimestamp(row.created_at),
    newest_at: toTimestamp(row.newest_at),
  }));
  return replyPage('dead_letters', { ...list, rows }, page);
};
