/**
 * Operations that tell what went wrong: runs of jobs, rows that SQL refused (docs/operating.md, "The
 * operator's side").
 */
import { showDeadLetters, showRuns } from '../../handlers/operator/failures.ts';
import { parsePage } from '../../handlers/request-values.ts';
import { NoParams } from '../../schema/common.ts';
import { DeadLetterList, JobRunList, PageOnlyQuery } from '../../schema/operator.ts';
import { type AdminOperation, defineOperation } from './operation.ts';

const list = { method: 'GET', params: NoParams, query: PageOnlyQuery } as const;

export const failureOperations: readonly AdminOperation[] = [
  defineOperation({
    ...list,
    command: 'jobs list',
    name: 'listJobRuns',
    path: '/jobs',
    summary: 'Runs of jobs: when due, on which node, the last error; the newest first, 50 on a page.',
    replies: { 200: JobRunList },
    handle: (app, { query }) => showRuns(app, parsePage(query)),
  }),
  defineOperation({
    ...list,
    command: 'dead-letters list',
    name: 'listDeadLetters',
    path: '/dead-letters',
    summary: 'Listings and votes that SQL refuses, kept aside; the newest first, 50 on a page.',
    replies: { 200: DeadLetterList },
    handle: (app, { query }) => showDeadLetters(app, parsePage(query)),
  }),
];
