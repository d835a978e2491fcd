/**
 * The limits that requests hold listings to, and which fields of a stored listing are outside of them. An
 * import keeps such fields; an edit judges only what it brings. Pure.
 */
import { countCodePoints, isVisiblyLong, refusedInNames } from './text.ts';

/** Fields that may be outside of the limits. */
export const limitedFields = [
  ...(['extra_links', 'invite', 'library', 'long', 'name', 'prefix', 'short', 'tags'] as const),
];
export type LimitedField = (typeof limitedFields)[number];

type Range = readonly [min: number, max: number];
/** Of each kind: how many characters texts have, and how many tags there are. */
const limitsOfKinds: Readonly<Record<string, Partial<Record<LimitedField, Range>>>> = {
  bot: {
    invite: [1, 512],
    library: [1, 50],
    long: [500, 65_536],
    prefix: [1, 10],
    short: [30, 150],
    tags: [1, 5],
  },
  server: { invite: [0, 512], name: [1, 100], short: [30, 150], tags: [0, 5] },
  team: { name: [3, 32], short: [0, 150], tags: [0, 5] },
  pack: { name: [3, 20], short: [10, 100], tags: [1, 5] },
};
const tagRange: Range = [3, 30];
const linkNameRange: Range = [1, 64];
const linksMax = 20;

const refused = new RegExp(`[${refusedInNames}]`);
const isWithin = (text: string, [min, max]: Range): boolean =>
  (min === 0 || isVisiblyLong(text, min)) && countCodePoints(text) <= max;
const isLine = (text: string, range: Range): boolean => isWithin(text, range) && !refused.test(text);
const isHttps = (text: string, range: Range): boolean =>
  text === '' ? range[0] === 0 : isWithin(text, range) && /^https:\/\/\S+$/.test(text) && URL.canParse(text);

interface Link {
  readonly name: string;
  readonly value: string;
}
const isLink = ({ name, value }: Link): boolean => isLine(name, linkNameRange) && isHttps(value, [1, 512]);
const isTags = (tags: readonly string[], [min, max]: Range): boolean =>
  tags.length >= min &&
  tags.length <= max &&
  new Set(tags).size === tags.length &&
  tags.every((tag) => isLine(tag, tagRange));

const isFit = (field: LimitedField, value: unknown, range: Range): boolean => {
  if (field === 'tags') return isTags(value as readonly string[], range);
  if (field === 'invite') return isHttps(value as string, range);
  if (field === 'short' || field === 'long') return isWithin(value as string, range);
  return isLine(value as string, range);
};

/** Lists the fields of a stored listing that a request could not set so, for an edit to mend. */
export const findUnfitFields = (kind: string, listing: Readonly<Record<string, unknown>>): LimitedField[] => {
  const limits = limitsOfKinds[kind] ?? {};
  const links = (listing.extra_links ?? []) as readonly Link[];
  return limitedFields.filter((field) => {
    if (field === 'extra_links') return links.length > linksMax || !links.every(isLink);
    const range = limits[field];
    return range !== undefined && !isFit(field, listing[field] ?? (field === 'tags' ? [] : ''), range);
  });
};
