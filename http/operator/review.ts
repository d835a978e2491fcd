/**
 * Operations on positions, applications, reserved words and the audit record (docs/operators/commands.md).
 */
import { DomainError } from '../../engine/errors.ts';
import { foldVanityCode } from '../../engine/rules/vanity.ts';
import type { App } from '../app.ts';
import { createNotFoundError, createValidationError } from '../response/errors.ts';
import { type Reply, replyMessage } from '../response/reply.ts';
import { createFullError, defineDeletion } from './content.ts';
import {
  ApplicationParams,
  ApplicationsQuery,
  OperatorApplications,
  PositionBody,
  PositionList,
  ReviewBody,
  SlugParams,
} from './content-schema.ts';
import { AuditQuery } from './list-schema.ts';
import { defineList, replyWhole, rowsPerPage } from './lists.ts';
import { type AdminOperation, defineOperation } from './operation.ts';
import { previewRowRemoval } from './previews.ts';
import { AuditList, ReservedNameList, ReservedNameParams } from './schema.ts';

const positionOperations = [
  defineList('positions list', 'GET /positions', {
    summary: 'Lists all positions, also hidden ones.',
    list: PositionList,
    read: async (app) => {
      const rows = await app.catalogue.operator.positions.listPositions();
      return rows.map((row) => ({ ...row, questions: row.questions.length }));
    },
  }),
  defineOperation('positions put', 'PUT /positions/{id}', {
    summary: 'Adds or replaces a position for which users can apply.',
    params: SlugParams,
    body: PositionBody,
    handle: (app, { params, body }) => putPosition(app, params.id, body),
  }),
  defineDeletion('positions delete', 'DELETE /positions/{id}', {
    summary: 'Deletes a position; its applications remain.',
    noun: 'position',
    listRows: (app) => app.catalogue.operator.positions.listPositions(),
    remove: (app, id) => app.catalogue.operator.positions.deletePosition(id),
  }),
  defineList('applications list', 'GET /applications', {
    summary: 'Lists the applications of one state, oldest first, 50 per page.',
    query: ApplicationsQuery,
    list: OperatorApplications,
    read: async (app, { query }, page) => {
      const { count, rows } = await app.catalogue.operator.applications.page(query.state ?? 'pending', page);
      return { rows, total: count, totalIs: 'exact' };
    },
  }),
  defineOperation('applications review', 'POST /applications/{app_id}/review', {
    summary: 'Approves or denies an application; the decision is final.',
    params: ApplicationParams,
    body: ReviewBody,
    handle: async (app, { params: { app_id: id }, body: { state, feedback = '' } }) => {
      const outcome = await app.catalogue.operator.applications.review(id, { state, feedback });
      if (outcome === 'not_found') throw createNotFoundError('application');
      if (outcome === 'already_reviewed')
        throw new DomainError('already_exists', 'This application is already reviewed.');
      return replyMessage(`application ${id} is ${state}.`);
    },
  }),
];

const reservedNameOperations = [
  defineOperation('words list', 'GET /words', {
    summary:
      'Lists words that cannot become vanity codes, without those that Rollcall itself always reserves.',
    replies: { 200: ReservedNameList },
    handle: async (app) => replyWhole('words', await app.catalogue.operator.reservedNames.listAll()),
  }),
  defineOperation('words add', 'PUT /words/{word}', {
    summary: 'Reserves a word; an entity whose vanity code it is keeps it.',
    params: ReservedNameParams,
    handle: async (app, { params }) => {
      const folded = foldVanityCode(params.word);
      const outcome = await app.catalogue.operator.reservedNames.add(folded);
      if (outcome === 'full') throw createFullError('reserved words');
      return replyMessage(outcome === 'added' ? `${folded} is reserved.` : `${folded} was already reserved.`);
    },
  }),
  defineOperation('words delete', 'DELETE /words/{word}', {
    summary: 'Removes a reserved word: it can become a vanity code.',
    preview: (app, { params }) =>
      previewRowRemoval(
        'reserved word',
        foldVanityCode(params.word),
        app.catalogue.operator.reservedNames.listAll().then((words) => words.map((id) => ({ id }))),
      ),
    params: ReservedNameParams,
    handle: async (app, { params }) => {
      const folded = foldVanityCode(params.word);
      if (!(await app.catalogue.operator.reservedNames.remove(folded)))
        throw createNotFoundError('reserved word');
      return replyMessage(`${folded} is no longer reserved.`);
    },
  }),
];

export const reviewOperations: readonly AdminOperation[] = [
  ...positionOperations,
  ...reservedNameOperations,
  defineList('audit list', 'GET /audit', {
    summary: 'Lists what operators changed or tried to change, newest first.',
    query: AuditQuery,
    list: AuditList,
    read: async (app, { query }, page) => {
      const { operator, operation, target, rows: rowsMax = rowsPerPage } = query;
      const list = await app.catalogue.operator.audit.page({ operator, operation, target, page, rowsMax });
      const rows = list.rows.map((row) => ({
        ...row,
        took_ms: row.ended_at === null ? null : row.ended_at.getTime() - row.asked_at.getTime(),
      }));
      return { ...list, rows };
    },
  }),
];

const putPosition = async (app: App, id: string, body: PositionBody): Promise<Reply> => {
  const outcome = await app.catalogue.operator.positions.upsertPosition({
    ...{ ordinal: 0, info: '', tags: [], closed: false, hidden: false },
    ...body,
    id,
    // Stored as they are, so without unknown fields.
    questions: body.questions.map((question) => ({
      id: question.id,
      question: question.question,
      paragraph: question.paragraph ?? '',
      placeholder: question.placeholder ?? '',
      short: question.short ?? false,
    })),
    cooldown_hours: body.cooldown ?? 0,
  });
  if (outcome === 'done') return replyMessage(`position ${id} is written.`);
  if (outcome === 'limit_reached') throw createFullError('positions');
  throw createValidationError('body', {
    '/questions': 'must contain a short question with the id bot_id, because this position is about a bot',
  });
};
