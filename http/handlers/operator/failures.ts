/**
 * Shows operators the job runs, and the dead letters: rows that SQL refused; tries these again.
 */
import { type App, type Reply, replyMessage } from '../../route.ts';
import { DeadLetterList, JobRunList } from '../../schema/operator.ts';
import { replyListPage } from './lists.ts';

export const showRuns = async (app: App, page: number): Promise<Reply> => {
  const list = await app.catalogue.operator.failures.listRuns(page);
  const rows = list.rows.map((row) => ({ ...row, job: row.name }));
  return replyListPage(JobRunList, { ...list, rows }, page);
};

export const showDeadLetters = async (app: App, page: number): Promise<Reply> =>
  replyListPage(DeadLetterList, await app.catalogue.operator.failures.listDeadLetters(page), page);

/** Tries the rows again. What waits for votes looks again at once. */
export const retryDeadLetters = async (app: App): Promise<Reply> => {
  const { failures } = app.catalogue.operator;
  const { stored, refused, left } = await failures.retryDeadLetters(app.settings.webhooks === 'on');
  if (stored + refused === 0) return replyMessage('There are no dead letters.');
  if (stored > 0) app.webhooks.onEdited();
  const parts = [
    `SQL has taken ${stored} of ${stored + refused} dead letters.`,
    ...(refused > 0 ? ['The others stay, with the reason of this try: list them.'] : []),
    ...(left > 0 ? [`${left} more wait: repeat the command.`] : []),
  ];
  return replyMessage(parts.join(' '), {
    stored: String(stored),
    refused: String(refused),
    left: String(left),
  });
};
