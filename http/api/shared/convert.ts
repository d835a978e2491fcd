/**
 * Converts SQL rows and counters to values of replies: timestamps, users, exact integers, maybe-promises.
 *
 * Pure.
 */
import type { Permission } from '../../../engine/rules/permissions.ts';
import { parsePermissions } from '../../../engine/rules/sessions.ts';
import type { PersonRow } from '../../../storage/catalogue/shared/people.ts';
import { createValidationError } from '../../response/validation-error.ts';
import { showRow } from '../../response/values.ts';
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

/** The user of an SQL row; without a row a stand-in that has the id as its name (docs/behaviour.md). */
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

/** Whether premium lasts beyond `nowMs`. */
export const isPremium = (premiumUntil: Date | null, nowMs: number): boolean =>
  premiumUntil !== null && premiumUntil.getTime() > nowMs;

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
