/**
 * Shows and changes positions, applications and reserved words for operators, and shows the audit record.
 */
import { DomainError } from '../../../engine/errors.ts';
import { foldVanityCode } from '../../../engine/rules/vanity.ts';
import type { AppState } from '../../../storage/catalogue/content/applications.ts';
import { createValidationError } from '../../response/validation-error.ts';
import { type App, type Reply, replyMessage } from '../../route.ts';
import { AuditList } from '../../schema/operator.ts';
import {
  OperatorApplications,
  type PositionBody,
  PositionList,
  type ReviewBody,
} from '../../schema/operator-content.ts';
import type { AuditQuery } from '../../schema/operator-lists.ts';
import { createNotFoundError } from '../convert.ts';
import { parsePage } from '../request-values.ts';
import { replyList, replyListPage, rowsPerPage } from './lists.ts';

export const putPosition = async (app: App, id: string, body: PositionBody): Promise<Reply> => {
  const outcome = await app.catalogue.operator.positions.put({
    id,
    ordinal: body.ordinal ?? 0,
    name: body.name,
    info: body.info ?? '',
    tags: body.tags ?? [],
    questions: body.questions.map((question) => ({
      id: question.id,
      question: question.question,
      paragraph: question.paragraph ?? '',
      placeholder: question.placeholder ?? '',
      short: question.short ?? false,
    })),
    closed: body.closed ?? false,
    hidden: body.hidden ?? false,
    cooldown_hours: body.cooldown ?? 0,
  });
  if (outcome === 'done') return replyMessage(`position ${id} is written.`);
  if (outcome === 'limit_reached') {
    throw new DomainError('limit_reached', 'The maximum number of positions is reached. Delete one first.');
  }
  throw createValidationError('body', {
    '/questions': 'must contain a short question with the id bot_id, because this position is about a bot',
  });
};

export const showApplicationsByState = async (app: App, state: AppState, page: number): Promise<Reply> => {
  const { count, rows } = await app.catalogue.operator.applications.page(state, page);
  return replyListPage(OperatorApplications, { rows, total: count, totalIs: 'exact' }, page);
};

export const reviewApplication = async (app: App, id: string, body: ReviewBody): Promise<Reply> => {
  const verdict = { state: body.state, feedback: body.feedback ?? '' };
  const outcome = await app.catalogue.operator.applications.review(id, verdict);
  if (outcome === 'not_found') throw createNotFoundError('application');
  if (outcome === 'already_reviewed') {
    throw new DomainError('already_exists', 'This application is already reviewed.');
  }
  return replyMessage(`application ${id} is ${body.state}.`);
};

export const addReservedName = async (app: App, name: string): Promise<Reply> => {
  const folded = foldVanityCode(name);
  const outcome = await app.catalogue.operator.reservedNames.add(folded);
  if (outcome === 'full') {
    throw new DomainError(
      'limit_reached',
      'The maximum number of reserved words is reached. Delete one first.',
    );
  }
  return replyMessage(outcome === 'added' ? `${folded} is reserved.` : `${folded} was already reserved.`);
};

export const removeReservedName = async (app: App, name: string): Promise<Reply> => {
  const folded = foldVanityCode(name);
  if (!(await app.catalogue.operator.reservedNames.remove(folded)))
    throw createNotFoundError('reserved word');
  return replyMessage(`${folded} is no longer reserved.`);
};

export const showAudit = async (app: App, query: AuditQuery): Promise<Reply> => {
  const { operator, operation, target, rows: rowsMax = rowsPerPage } = query;
  const page = parsePage(query);
  const list = await app.catalogue.operator.audit.page({ operator, operation, target, page, rowsMax });
  const rows = list.rows.map((row) => ({
    ...row,
    took_ms: row.ended_at === null ? null : row.ended_at.getTime() - row.asked_at.getTime(),
  }));
  return replyListPage(AuditList, { ...list, rows }, page);
};

/** Lists all positions, also hidden ones, in their order. */
export const showPositions = async (app: App): Promise<Reply> => {
  const rows = await app.catalogue.operator.positions.listAll();
  return replyList(
    PositionList,
    rows.map((row) => ({ ...row, questions: row.questions.length })),
  );
};
