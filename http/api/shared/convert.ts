/**
 * Converts between the wire and the rest: reads the page and the entity of a request, and which parts of a
 * team it wants; turns SQL rows and counters into values of replies, and snapshots into lists.
 *
 * Throws the documented `DomainError`.
 */

import { DomainError } from '../../../engine/errors.ts';
import { foldTargetId } from '../../../engine/ids.ts';
import { parsePageNumber } from '../../../engine/rules/pages.ts';
import type { Permission } from '../../../engine/rules/permissions.ts';
import { parsePermissions } from '../../../engine/rules/sessions.ts';
import type { Listing } from '../../../storage/catalogue/catalogue.ts';
import type { Premium } from '../../../storage/catalogue/shared/index-rows.ts';
import type { PersonRow } from '../../../storage/catalogue/shared/people.ts';
import { createValidationError } from '../../response/errors.ts';
import { type Reply, showRow } from '../../response/reply.ts';
import { User } from './common.ts';

/** Like `then`, but calls `next` at once with a plain value, so that fast requests create no promise. */
export const thenMaybe = <Value, Result>(
  value: Value | Promise<Value>,
  next: (value: Value) => Result | Promise<Result>,
): Result | Promise<Result> => (value instanceof Promise ? value.then(next) : next(value));

const { rawJSON } = JSON as unknown as { rawJSON(text: string): number };

/**
 * Wraps a decimal string so that it serialises to exactly these digits, also beyond 2^53. It is a number only
 * for the type checker: serialise it, never calculate with it.
 */
export const toExactInteger = (decimal: string): number => rawJSON(decimal);

/** The user of an SQL row; without a row a stand-in with the id as its name. */
export const toUser = (
  row: PersonRow | null,
  standIn: { readonly id: string; readonly bot: boolean },
): User =>
  row === null
    ? {
        avatar: '',
        bot: standIn.bot,
        display_name: standIn.id,
        extra_data: {},
        flags: [],
        id: standIn.id,
        status: 'offline',
        username: standIn.id,
      }
    : showRow(User, row);

/** Whether `nowMs` is in the premium period: from its start on, and before its end. */
export const isPremium = ({ premium_from: from, premium_until: until }: Premium, nowMs: number): boolean =>
  from !== null && until !== null && from.getTime() <= nowMs && until.getTime() > nowMs;

/** Checks permission ids of a body; `pointer` is their JSON Pointer. Throws `validation_failed`. */
export const parsePermissionIds = (pointer: string, ids: readonly string[]): readonly Permission[] => {
  const permissions = parsePermissions(ids);
  if (permissions !== null) return permissions;
  throw createValidationError('body', {
    [pointer]: 'must name known permission ids (see GET /teams/meta/permissions)',
  });
};

const emptyList: readonly string[] = [];

/** Splits a comma-separated query value. */
export const splitList = (list: string | undefined): readonly string[] =>
  list === undefined ? emptyList : list.split(',').map((item) => item.trim());

/** The kinds of entities that a team can include. */
export const teamTargets = ['team_member', 'bot', 'server'] as const;

export type TeamTarget = (typeof teamTargets)[number];

/** The most values of `team_includes` and `targets`. */
const targetsMax = 16;

const noTargets: readonly TeamTarget[] = [];

/** The known kinds of a comma-separated list, in fixed order. Throws `validation_failed` for a long list. */
export const parseTeamTargets = (name: string, list: string | undefined): readonly TeamTarget[] => {
  const names = splitList(list);
  if (names.length === 0) return noTargets;
  if (names.length > targetsMax) {
    const requirement = `must name at most ${targetsMax} kinds`;
    throw new DomainError('validation_failed', `${name} ${requirement}.`, { [`/${name}`]: requirement });
  }
  return teamTargets.filter((target) => names.includes(target));
};

/** Parses the page number. Throws `page_invalid`. */
export const parsePage = (query: { readonly page?: string }): number => {
  const page = parsePageNumber(query.page);
  if (page !== null) return page;
  throw new DomainError('page_invalid', 'The page must be a whole number from 1.', {
    '/page': 'must be a whole number from 1',
  });
};

/** The path parameters that name an entity. */
interface TargetParams<Kind extends string> {
  readonly target_type: Kind;
  readonly target_id: string;
}

/** The entity that a path names. The url of a pack is changed to lower case, as in `GET /packs/{id}`. */
export const toTarget = <Kind extends string>({ target_type: kind, target_id: id }: TargetParams<Kind>) => ({
  kind,
  id: foldTargetId(kind, id),
});

const snapshotReplies = new WeakMap<object, Reply>();

/** The reply of a snapshot; `value` is serialised, and the reply tagged, only once per snapshot object. */
export const replySnapshot = (snapshot: object, value: () => unknown): Reply => {
  let reply = snapshotReplies.get(snapshot);
  if (reply === undefined) {
    reply = { status: 200, text: JSON.stringify(value()), tag: { etag: '' } };
    snapshotReplies.set(snapshot, reply);
  }
  return reply;
};

/** The page envelope of contract §2.15. */
export const replyPage = <Rows>(
  listing: Listing<Rows>,
  per_page: number,
  show: (rows: Rows) => readonly unknown[],
): Reply => replySnapshot(listing, () => ({ count: listing.count, per_page, results: show(listing.rows) }));
