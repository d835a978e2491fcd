/**
 * Converts a login provider's claims about a user to the profile that the directory stores. Pure.
 *
 * The operator configures which field means what. Names are shortened and stripped of what no name may have,
 * because they are displayed and stored; one without a visible character is none.
 */
import { isVisiblyLong, refusedInNames } from '../../engine/rules/text.ts';
import type { LoginProfile } from '../../storage/catalogue/people/logins.ts';

/** Names of the provider's fields. */
export interface ProfileFields {
  readonly id: string;
  readonly username: string;
  readonly display_name: string;
  readonly avatar: string;
}
export interface ProfileMapping {
  readonly fields: ProfileFields;
  /** Template of the avatar's URL with `{id}` and `{avatar}`; `''` when the field already is a URL. */
  readonly avatarUrl: string;
}

/** The ids that a token can carry. */
const idShape = /^[A-Za-z0-9-]{1,64}$/;
const nameCharactersMax = 64;
const avatarLengthMax = 512;

/** Returns `null` when there is no usable id. A missing name becomes the id, a missing avatar `''`. */
export const toLoginProfile = (
  { fields, avatarUrl }: ProfileMapping,
  claims: Readonly<Record<string, unknown>>,
): LoginProfile | null => {
  const id = toText(claims[fields.id]);
  if (!idShape.test(id)) return null;
  const username = toName(claims[fields.username]) || id;
  return {
    id,
    username,
    displayName: toName(claims[fields.display_name]) || username,
    avatar: toAvatarUrl(avatarUrl, id, toText(claims[fields.avatar])),
  };
};

const toText = (value: unknown): string => {
  if (typeof value === 'string') return value.trim();
  return Number.isSafeInteger(value) ? String(value) : '';
};

const refused = new RegExp(`[\\p{Cc}\\p{Cs}${refusedInNames}]`, 'gu');
const toName = (value: unknown): string => {
  const plain = toText(value).replace(refused, '').trim();
  return isVisiblyLong(plain, 1) ? [...plain].slice(0, nameCharactersMax).join('') : '';
};

const toAvatarUrl = (template: string, id: string, avatar: string): string => {
  if (avatar === '') return '';
  const url =
    template === ''
      ? avatar
      : template.replaceAll('{id}', id).replaceAll('{avatar}', encodeURIComponent(avatar));
  const fits = url.length <= avatarLengthMax && /^https:\/\/[^\s\p{Cc}]+$/u.test(url);
  return fits && URL.canParse(url) ? url : '';
};
