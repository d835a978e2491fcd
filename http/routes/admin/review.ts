/**
 * Operations on positions, applications, reserved words, and the record of operations (docs/operating.md,
 * "The operator's side").
 */
import { removedReply } from '../../replies/operator/content.ts';
import {
  addWord,
  putPosition,
  removeWord,
  reviewApplication,
  showApplicationsOf,
  showAudit,
} from '../../replies/operator/review.ts';
import { pageOf } from '../../replies/request.ts';
import { NoParams } from '../../schema/common.ts';
import { AuditList, Done, PageOnly, WordList, WordParams } from '../../schema/operator.ts';
import {
  ApplicationParams,
  ApplicationsQuery,
  OperatorApplications,
  PositionBody,
  ReviewBody,
  SlugParams,
} from '../../schema/operator-content.ts';
import { type Operation, operation } from './operation.ts';

const positionOperations = [
  operation({
    command: 'positions put',
    name: 'putPosition',
    method: 'PUT',
    path: '/positions/{id}',
    summary: 'Adds a position that users can apply for, or writes it anew.',
    params: SlugParams,
    body: PositionBody,
    replies: { 200: Done },
    handle: (app, { params, body }) => putPosition(app, params.id, body),
  }),
  operation({
    command: 'positions delete',
    name: 'deletePosition',
    method: 'DELETE',
    path: '/positions/{id}',
    summary: 'Deletes a position; its applications stay.',
    params: SlugParams,
    replies: { 200: Done },
    handle: async (app, { params }) =>
      removedReply(await app.catalogue.operator.positions.remove(params.id), 'position', params.id),
  }),
  operation({
    command: 'applications list',
    name: 'listApplicationsOf',
    method: 'GET',
    path: '/applications',
    summary: 'Applications of one state, the oldest first, 50 on a page.',
    params: NoParams,
    query: ApplicationsQuery,
    replies: { 200: OperatorApplications },
    handle: (app, { query }) => showApplicationsOf(app, query.state ?? 'pending', pageOf(query)),
  }),
  operation({
    command: 'applications review',
    name: 'reviewApplication',
    method: 'POST',
    path: '/applications/{app_id}/review',
    summary: 'Approves or denies an application; it cannot be taken back.',
    params: ApplicationParams,
    body: ReviewBody,
    replies: { 200: Done },
    handle: (app, { params, body }) => reviewApplication(app, params.app_id, body),
  }),
];

const wordOperations = [
  operation({
    command: 'words list',
    name: 'listWords',
    method: 'GET',
    path: '/words',
    summary: 'Words that nobody may take as a vanity code, beside those that Rollcall reserves itself.',
    params: NoParams,
    replies: { 200: WordList },
    handle: async (app) => ({ status: 200, json: { words: await app.catalogue.operator.words.all() } }),
  }),
  operation({
    command: 'words add',
    name: 'addWord',
    method: 'PUT',
    path: '/words/{word}',
    summary: 'Reserves a word; who has it as a vanity code keeps it.',
    params: WordParams,
    replies: { 200: Done },
    handle: (app, { params }) => addWord(app, params.word),
  }),
  operation({
    command: 'words delete',
    name: 'removeWord',
    method: 'DELETE',
    path: '/words/{word}',
    summary: 'Takes back a reservation.',
    params: WordParams,
    replies: { 200: Done },
    handle: (app, { params }) => removeWord(app, params.word),
  }),
];

export const reviewOperations: readonly Operation[] = [
  ...positionOperations,
  ...wordOperations,
  operation({
    command: 'audit list',
    name: 'listAudit',
    method: 'GET',
    path: '/audit',
    summary: 'What operators changed or tried to, the newest first, 50 on a page.',
    params: NoParams,
    query: PageOnly,
    replies: { 200: AuditList },
    handle: (app, { query }) => showAudit(app, pageOf(query)),
  }),
];
