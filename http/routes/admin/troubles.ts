/**
 * Operations that tell what went wrong: runs of jobs, rows that SQL refused (docs/operating.md, "The
 * operator's side").
 */
import { showDeadLetters, showRuns } from '../../replies/operator/troubles.ts';
import { pageOf } from '../../replies/request.ts';
import { NoParams } from '../../schema/common.ts';
import { DeadLetterList, PageOnly, RunList } from '../../schema/operator.ts';
import { type Operation, operation } from './operation.ts';

const list = { method: 'GET', params: NoParams, query: PageOnly } as const;

export const troubleOperations: readonly Operation[] = [
  operation({
    ...list,
    command: 'jobs list',
    name: 'listJobRuns',
    path: '/jobs',
    summary: 'Runs of jobs: when due, on which node, the last error; the newest first, 50 on a page.',
    replies: { 200: RunList },
    handle: (app, { query }) => showRuns(app, pageOf(query)),
  }),
  operation({
    ...list,
    command: 'dead-letters list',
    name: 'listDeadLetters',
    path: '/dead-letters',
    summary: 'Listings and votes that SQL refuses, kept aside; the newest first, 50 on a page.',
    replies: { 200: DeadLetterList },
    handle: (app, { query }) => showDeadLetters(app, pageOf(query)),
  }),
];
