/**
 * Shows operators the job runs, and the dead letters: rows that SQL refused.
 */
import type { App, Reply } from '../../route.ts';
import { DeadLetterList, JobRunList } from '../../schema/operator.ts';
import { replyListPage } from './lists.ts';

export const showRuns = async (app: App, page: number): Promise<Reply> => {
  const list = await app.catalogue.operator.failures.listRuns(page);
  const rows = list.rows.map((row) => ({ ...row, job: row.name }));
  return replyListPage(JobRunList, { ...list, rows }, page);
};

export const showDeadLetters = async (app: App, page: number): Promise<Reply> =>
  replyListPage(DeadLetterList, await app.catalogue.operator.failures.listDeadLetters(page), page);
