/**
 * Operations on positions, applications, reserved words, and the record of operations (docs/operating.md,
 * "The operator's side").
 */
import { replyRemoved } from '../../handlers/operator/content.ts';
import {
  addReservedName,
  putPosition,
  removeReservedName,
  reviewApplication,
  showApplicationsByState,
  showAudit,
} from '../../handlers/operator/review.ts';
import { parsePage } from '../../handlers/request-values.ts';
import { NoParams } from '../../schema/common.ts';
import {
  AuditList,
  Done,
  PageOnlyQuery,
  ReservedNameList,
  ReservedNameParams,
} from '../../schema/operator.ts';
import {
  ApplicationParams,
  ApplicationsQuery,
  OperatorApplications,
  PositionBody,
  ReviewBody,
  SlugParams,
} from '../../schema/operator-content.ts';
import { type AdminOperation, defineOperation } from './operation.ts';

const positionOperations = [
  defineOperation({
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
  defineOperation({
    command: 'positions delete',
    name: 'deletePosition',
    method: 'DELETE',
    path: '/positions/{id}',
    summary: 'Deletes a position; its applications stay.',
    params: SlugParams,
    replies: { 200: Done },
    handle: async (app, { params }) =>
      replyRemoved(await app.catalogue.operator.positions.remove(params.id), 'position', params.id),
  }),
  defineOperation({
    command: 'applications list',
    name: 'listApplicationsOf',
    method: 'GET',
    path: '/applications',
    summary: 'Applications of one state, the oldest first, 50 on a page.',
    params: NoParams,
    query: ApplicationsQuery,
    replies: { 200: OperatorApplications },
    handle: (app, { query }) => showApplicationsByState(app, query.state ?? 'pending', parsePage(query)),
  }),
  defineOperation({
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

const reservedNameOperations = [
  defineOperation({
    command: 'words list',
    name: 'listWords',
    method: 'GET',
    path: '/words',
    summary: 'Words that nobody may take as a vanity code, beside those that Rollcall reserves itself.',
    params: NoParams,
    replies: { 200: ReservedNameList },
    handle: async (app) => ({
      status: 200,
      json: { words: await app.catalogue.operator.reservedNames.listAll() },
    }),
  }),
  defineOperation({
    command: 'words add',
    name: 'addWord',
    method: 'PUT',
    path: '/words/{word}',
    summary: 'Reserves a word; who has it as a vanity code keeps it.',
    params: ReservedNameParams,
    replies: { 200: Done },
    handle: (app, { params }) => addReservedName(app, params.word),
  }),
  defineOperation({
    command: 'words delete',
    name: 'removeWord',
    method: 'DELETE',
    path: '/words/{word}',
    summary: 'Takes back a reservation.',
    params: ReservedNameParams,
    replies: { 200: Done },
    handle: (app, { params }) => removeReservedName(app, params.word),
  }),
];

export const reviewOperations: readonly AdminOperation[] = [
  ...positionOperations,
  ...reservedNameOperations,
  defineOperation({
    command: 'audit list',
    name: 'listAudit',
    method: 'GET',
    path: '/audit',
    summary: 'What operators changed or tried to, the newest first, 50 on a page.',
    params: NoParams,
    query: PageOnlyQuery,
    replies: { 200: AuditList },
    handle: (app, { query }) => showAudit(app, parsePage(query)),
  }),
];
