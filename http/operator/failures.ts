/**
 * Operations on failures (docs/operators/commands.md): job runs, and the dead letters: rows
 * that SQL refused; tries these again.
 */
import type { App } from '../app.ts';
import { type Reply, replyMessage } from '../response/reply.ts';
import { PageOnlyQuery } from './list-schema.ts';
import { defineList } from './lists.ts';
import { type AdminOperation, defineOperation } from './operation.ts';
import { DeadLetterList, JobRunList } from './schema.ts';

export const failureOperations: readonly AdminOperation[] = [
  defineList('jobs list', 'GET /jobs', {
    summary: 'Lists job runs with due time, node and last error, newest first, 50 per page.',
    query: PageOnlyQuery,
    list: JobRunList,
    read: async (app, _, page) => {
      const list = await app.catalogue.operator.failures.listRuns(page);
      return { ...list, rows: list.rows.map((row) => ({ ...row, job: row.name })) };
    },
  }),
  defineList('dead-letters list', 'GET /dead-letters', {
    summary: 'Lists dead letters: listings and votes that SQL refuses, newest first, 50 per page.',
    query: PageOnlyQuery,
    list: DeadLetterList,
    read: (app, _, page) => app.catalogue.operator.failures.listDeadLetters(page),
  }),
  defineOperation('dead-letters retry', 'POST /dead-letters/retry', {
    summary:
      'Stores the rows of dead letters again, up to 200, after the cause is gone; deletes what SQL takes.',
    handle: (app) => retryDeadLetters(app),
  }),
];

/** Tries the rows again. What waits for votes looks again at once. */
const retryDeadLetters = async (app: App): Promise<Reply> => {
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
