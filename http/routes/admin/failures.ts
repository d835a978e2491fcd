/**
 * Operations on failures: job runs, and rows that SQL refused (docs/operating.md, "The operator's
 * side").
 */
import { retryDeadLetters, showDeadLetters, showRuns } from '../../handlers/operator/failures.ts';
import { parsePage } from '../../handlers/request-values.ts';
import { DeadLetterList, JobRunList } from '../../schema/operator.ts';
import { PageOnlyQuery } from '../../schema/operator-lists.ts';
import { type AdminOperation, defineOperation } from './operation.ts';

export const failureOperations: readonly AdminOperation[] = [
  defineOperation({
    command: 'jobs list',
    name: 'listJobRuns',
    pattern: 'GET /jobs',
    summary: 'Lists job runs with due time, node and last error, newest first, 50 per page.',
    query: PageOnlyQuery,
    replies: { 200: JobRunList },
    handle: (app, { query }) => showRuns(app, parsePage(query)),
  }),
  defineOperation({
    command: 'dead-letters list',
    name: 'listDeadLetters',
    pattern: 'GET /dead-letters',
    summary: 'Lists dead letters: listings and votes that SQL refuses, newest first, 50 per page.',
    query: PageOnlyQuery,
    replies: { 200: DeadLetterList },
    handle: (app, { query }) => showDeadLetters(app, parsePage(query)),
  }),
  defineOperation({
    command: 'dead-letters retry',
    name: 'retryDeadLetters',
    pattern: 'POST /dead-letters/retry',
    summary:
      'Stores the rows of dead letters again, up to 200, after the cause is gone; deletes what SQL takes.',
    handle: (app) => retryDeadLetters(app),
  }),
];
