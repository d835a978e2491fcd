/**
 * Positions and applications in SQL.
 *
 * An application is inserted in a transaction that locks this user and position, so of many concurrent ones
 * one is accepted; a unique index enforces the same. A review decides a pending application once.
 */
import { v7 as uuidv7 } from 'uuid';
import {
  type Answers,
  type BotRule,
  botQuestion,
  canApply,
  canRequest,
  findBotRule,
  type Question,
  validateAnswers,
} from '../../../engine/rules/applications.ts';
import { includesPermission, type Permission } from '../../../engine/rules/permissions.ts';
import { type Queryable, runTransaction, type Sql, type Transaction } from '../../sql/client.ts';
import { asStorage, bindStorage } from '../../sql/errors.ts';
import { hasRow } from '../../sql/rows.ts';
import type { Snapshots } from '../shared/cache.ts';
import { type Once, runOnce } from '../shared/once.ts';
import { buildPersonColumn, type PersonRow } from '../shared/people.ts';
import { findAccess } from '../shared/permissions.ts';

export interface PositionRow {
  readonly id: string;
  readonly name: string;
  readonly info: string;
  readonly tags: readonly string[];
  readonly questions: readonly Question[];
  readonly closed: boolean;
  readonly hidden: boolean;
  readonly cooldown_hours: number;
}
export type AppState = 'pending' | 'approved' | 'denied';
export interface AppVerdict {
  readonly state: 'approved' | 'denied';
  readonly feedback: string;
}
export interface AppRow {
  readonly app_id: string;
  readonly user_id: string;
  readonly position: string;
  readonly questions: readonly Question[];
  readonly answers: Answers;
  readonly state: AppState;
  readonly review_feedback: string;
  readonly created_at: Date;
  readonly person: PersonRow | null;
}
export interface AppRequest {
  readonly userId: string;
  readonly position: string;
  readonly answers: Answers;
  /** The engine's counters of the bot that the application is about; `null` when there is no such bot. */
  readonly counts: BotCounts | null;
}
export interface BotCounts {
  readonly servers: string;
  readonly uniqueClicks: number;
}
export type AppOutcome =
  | { readonly kind: 'sent'; readonly id: string }
  | { readonly kind: 'banned' | 'no_position' | 'no_bot' | 'closed' | 'pending' }
  | { readonly kind: 'faulty'; readonly faults: Readonly<Record<string, string>> }
  | { readonly kind: 'permission_missing'; readonly permission: Permission }
  | { readonly kind: 'not_eligible'; readonly lacking: Readonly<Record<string, string>> }
  | { readonly kind: 'wait'; readonly waitMs: number };

export const createApplications = (sql: Sql, snapshots: Snapshots) => ({
  /** Lists all positions, also hidden and closed ones, in the operator's order; from a snapshot. */
  listPositions: () =>
    snapshots.get('positions', () =>
      asStorage('applications.positions', async () => ({ rows: await listPositions(sql) })),
    ),
  /** Lists the user's newest applications, at most 200. */
  listOfUser: (userId: string) => asStorage('applications.ofUser', () => readAppsOf(sql, userId)),
  /** Sends an application. Ledger when it resolves to `sent`; any other outcome changes nothing. */
  send: (request: AppRequest, once?: Once) =>
    runTransaction(sql, 'applications.send', (transaction) =>
      runOnce(transaction, once, {
        work: () => send(transaction, request),
        isDone: ({ kind }) => kind === 'sent',
      }),
    ),
});

const positionsMax = 200;
const appsOfUserMax = 200;
/** Applications in one page of the operator's list. */
export const appsPerPage = 50;

/** Lists all positions in their order, also hidden ones. */
const listPositions = (sql: Queryable): Promise<readonly PositionRow[]> =>
  sql<PositionRow[]>`
    select id, name, info, tags, questions, closed, hidden, cooldown_hours
    from app_positions order by ordinal, id limit ${positionsMax}`;

const buildAppColumns = (sql: Queryable) => sql`
  apps.app_id, apps.user_id, apps.position, apps.questions, apps.answers, apps.state, apps.review_feedback,
  apps.created_at, ${buildPersonColumn(sql, 'apps.user_id')} as person`;

const readAppsOf = (sql: Queryable, userId: string): Promise<readonly AppRow[]> =>
  sql<AppRow[]>`
    select ${buildAppColumns(sql)} from apps
    where apps.user_id = ${userId} order by apps.created_at desc, apps.app_id limit ${appsOfUserMax}`;

const send = async (transaction: Transaction, request: AppRequest): Promise<AppOutcome> => {
  const { userId, position: id } = request;
  const [user] = await transaction<{ banned: boolean }[]>`select banned from users where id = ${userId}`;
  if (!canApply(user?.banned ?? false, id)) return { kind: 'banned' };
  const [position] = await transaction<(PositionRow & { ordinal: number })[]>`
    select * from app_positions where id = ${id} for share`;
  if (position === undefined) return { kind: 'no_position' };
  const verdict = validateAnswers(position.questions, request.answers);
  if (verdict.kind === 'faulty') return verdict;
  const rule = findBotRule(id);
  const sent = { ...request, answers: verdict.answers };
  const bot = rule === null ? null : await checkBot(transaction, rule, sent);
  if (bot?.kind === 'no_bot' || bot?.kind === 'permission_missing') return bot;
  if (position.closed) return { kind: 'closed' };
  if (bot !== null) return bot;
  return insert(transaction, position, sent);
};

/** Returns why this user cannot apply with the bot, or `null` when they can. */
const checkBot = async (
  transaction: Transaction,
  rule: BotRule,
  { userId, answers, counts }: AppRequest,
): Promise<AppOutcome | null> => {
  const botId = (answers[botQuestion] ?? '').trim();
  const access = await findAccess(transaction, { kind: 'bot', id: botId }, userId);
  const [bot] = await transaction<{ type: string }[]>`select type from bots where bot_id = ${botId}`;
  if (access === null || bot === undefined || counts === null) return { kind: 'no_bot' };
  if (!includesPermission(access.permissions, rule.permission)) {
    return { kind: 'permission_missing', permission: rule.permission };
  }
  const { servers, uniqueClicks } = counts;
  const lacking = rule.listMissing({ type: bot.type, servers: BigInt(servers), uniqueClicks });
  return Object.keys(lacking).length === 0 ? null : { kind: 'not_eligible', lacking };
};

const insert = async (
  transaction: Transaction,
  position: PositionRow,
  { userId, answers }: AppRequest,
): Promise<AppOutcome> => {
  const lock = `application ${position.id} ${userId}`;
  await transaction`select pg_advisory_xact_lock(hashtextextended(${lock}, 0))`;
  const [last] = await transaction<{ pending: boolean; wait_ms: number }[]>`
    select bool_or(state = 'pending') as pending,
      extract(epoch from max(created_at) + make_interval(hours => ${position.cooldown_hours})
        - clock_timestamp())::float8 * 1000 as wait_ms
    from apps where user_id = ${userId} and position = ${position.id} having count(*) > 0`;
  if (last?.pending) return { kind: 'pending' };
  if (last !== undefined && last.wait_ms > 0) return { kind: 'wait', waitMs: last.wait_ms };
  const id = uuidv7();
  await transaction`
    insert into apps (app_id, user_id, position, questions, answers)
    values (${id}, ${userId}, ${position.id}, ${JSON.stringify(position.questions)}::text::jsonb,
      ${JSON.stringify(answers)}::text::jsonb)`;
  return { kind: 'sent', id };
};

/** A position as the operator writes it. `ordinal` sorts the list. */
export interface PositionFields extends PositionRow {
  readonly ordinal: number;
}

/**
 * Writes a position; ledger when it resolves. `bot_question_missing`: a position with this id is about a bot
 * and needs a short question `bot_id`. `limit_reached`: there are 200 positions.
 */
export const upsertPosition = async (
  sql: Queryable,
  fields: PositionFields,
): Promise<'done' | 'bot_question_missing' | 'limit_reached'> => {
  if (!canRequest(fields.id, fields.questions)) return 'bot_question_missing';
  const rows = await sql`
      insert into app_positions
        (id, ordinal, name, info, tags, questions, closed, hidden, cooldown_hours)
      select ${fields.id}, ${fields.ordinal}::integer, ${fields.name}, ${fields.info},
        ${fields.tags as string[]}::text[],
        ${JSON.stringify(fields.questions)}::text::jsonb, ${fields.closed}::boolean,
        ${fields.hidden}::boolean,
        ${fields.cooldown_hours}::integer
      where (select count(*) from app_positions where id <> ${fields.id}) < ${positionsMax}
      on conflict (id) do update set ordinal = excluded.ordinal, name = excluded.name, info = excluded.info,
        tags = excluded.tags, questions = excluded.questions, closed = excluded.closed,
        hidden = excluded.hidden, cooldown_hours = excluded.cooldown_hours
      returning id`;
  return rows.length === 1 ? 'done' : 'limit_reached';
};

/** Deletes a position; ledger when it resolves. Its applications stay. Resolves to whether it existed. */
export const deletePosition = (sql: Queryable, id: string): Promise<boolean> =>
  hasRow(sql`delete from app_positions where id = ${id} returning id`);

/** Lists applications in one state, oldest first, `appsPerPage` per page; pages count from 1. */
export const listApplications = async (
  sql: Queryable,
  state: AppState,
  page: number,
): Promise<{ readonly count: number; readonly rows: readonly AppRow[] }> => {
  const [total] = await sql<{ count: number }[]>`select count(*) from apps where state = ${state}`;
  const rows = await sql<AppRow[]>`
      select ${buildAppColumns(sql)} from apps
      where apps.state = ${state} order by apps.created_at, apps.app_id
      limit ${appsPerPage} offset ${(page - 1) * appsPerPage}`;
  return { count: total?.count ?? 0, rows };
};

/** Decides a pending application once; ledger when it resolves. The applicant sees `feedback`. */
export const reviewApplication = async (
  sql: Queryable,
  id: string,
  verdict: AppVerdict,
): Promise<'done' | 'not_found' | 'already_reviewed'> => {
  const rows = await sql`
      update apps set state = ${verdict.state}, review_feedback = ${verdict.feedback}, reviewed_at = now()
      where app_id = ${id} and state = 'pending' returning app_id`;
  if (rows.length === 1) return 'done';
  const existing = await sql`select from apps where app_id = ${id}`;
  return existing.length === 1 ? 'already_reviewed' : 'not_found';
};

/** Positions as operators read and write them. */
export const createPositions = (sql: Sql) =>
  bindStorage('positions', sql, { listPositions, upsertPosition, deletePosition });
/** Applications as operators read and decide them. */
export const createReviews = (sql: Sql) =>
  bindStorage('applications', sql, { page: listApplications, review: reviewApplication });
