/**
 * Operations on positions, applications, reserved words and the audit record (docs/operating.md, "The
 * operator's side").
 */
import { foldVanityCode } from '../../../engine/rules/vanity.ts';
import { replyRemoved } from '../../handlers/operator/content.ts';
import { replyWhole } from '../../handlers/operator/lists.ts';
import { previewRowRemoval } from '../../handlers/operator/previews.ts';
import {
  addReservedName,
  putPosition,
  removeReservedName,
  reviewApplication,
  showApplicationsByState,
  showAudit,
  showPositions,
} from '../../handlers/operator/review.ts';
import { parsePage } from '../../handlers/request-values.ts';
import { AuditList, ReservedNameList, ReservedNameParams } from '../../schema/operator.ts';
import {
  ApplicationParams,
  ApplicationsQuery,
  OperatorApplications,
  PositionBody,
  PositionList,
  ReviewBody,
  SlugParams,
} from '../../schema/operator-content.ts';
import { AuditQuery } from '../../schema/operator-lists.ts';
import { type AdminOperation, defineOperation } from './operation.ts';

const positionOperations = [
  defineOperation({
    command: 'positions list',
    name: 'listAllPositions',
    pattern: 'GET /positions',
    summary: 'Lists all positions, also hidden ones.',
    replies: { 200: PositionList },
    handle: (app) => showPositions(app),
  }),
  defineOperation({
    command: 'positions put',
    name: 'putPosition',
    pattern: 'PUT /positions/{id}',
    summary: 'Adds or replaces a position for which users can apply.',
    params: SlugParams,
    body: PositionBody,
    handle: (app, { params, body }) => putPosition(app, params.id, body),
  }),
  defineOperation({
    command: 'positions delete',
    name: 'deletePosition',
    pattern: 'DELETE /positions/{id}',
    summary: 'Deletes a position; its applications remain.',
    preview: (app, { params }) =>
      previewRowRemoval(
        'position',
        params.id,
        app.catalogue.operator.positions
          .listAll()
          .then((rows) => rows.map(({ id, name }) => ({ id, title: name }))),
      ),
    params: SlugParams,
    handle: async (app, { params }) =>
      replyRemoved(await app.catalogue.operator.positions.remove(params.id), 'position', params.id),
  }),
  defineOperation({
    command: 'applications list',
    name: 'listApplicationsOf',
    pattern: 'GET /applications',
    summary: 'Lists the applications of one state, oldest first, 50 per page.',
    query: ApplicationsQuery,
    replies: { 200: OperatorApplications },
    handle: (app, { query }) => showApplicationsByState(app, query.state ?? 'pending', parsePage(query)),
  }),
  defineOperation({
    command: 'applications review',
    name: 'reviewApplication',
    pattern: 'POST /applications/{app_id}/review',
    summary: 'Approves or denies an application; the decision is final.',
    params: ApplicationParams,
    body: ReviewBody,
    handle: (app, { params, body }) => reviewApplication(app, params.app_id, body),
  }),
];

const reservedNameOperations = [
  defineOperation({
    command: 'words list',
    name: 'listWords',
    pattern: 'GET /words',
    summary:
      'Lists words that cannot become vanity codes, without those that Rollcall itself always reserves.',
    replies: { 200: ReservedNameList },
    handle: async (app) => replyWhole('words', await app.catalogue.operator.reservedNames.listAll()),
  }),
  defineOperation({
    command: 'words add',
    name: 'addWord',
    pattern: 'PUT /words/{word}',
    summary: 'Reserves a word; an entity whose vanity code it is keeps it.',
    params: ReservedNameParams,
    handle: (app, { params }) => addReservedName(app, params.word),
  }),
  defineOperation({
    command: 'words delete',
    name: 'removeWord',
    pattern: 'DELETE /words/{word}',
    summary: 'Removes a reserved word: it can become a vanity code.',
    preview: (app, { params }) =>
      previewRowRemoval(
        'reserved word',
        foldVanityCode(params.word),
        app.catalogue.operator.reservedNames
          .listAll()
          .then((words) => words.map((id) => ({ id, title: '' }))),
      ),
    params: ReservedNameParams,
    handle: (app, { params }) => removeReservedName(app, params.word),
  }),
];

export const reviewOperations: readonly AdminOperation[] = [
  ...positionOperations,
  ...reservedNameOperations,
  defineOperation({
    command: 'audit list',
    name: 'listAudit',
    pattern: 'GET /audit',
    summary: 'Lists what operators changed or tried to change, newest first.',
    query: AuditQuery,
    replies: { 200: AuditList },
    handle: (app, { query }) => showAudit(app, query),
  }),
];
