/**
 * Fields of bodies that people write: text with bounds, tags, links. Lengths count Unicode code points.
 *
 * A schema cannot check that an address parses; `checkAddresses` and `checkLinks` do.
 */
import { type Static, Type } from 'typebox';
import { createValidationError } from '../../response/errors.ts';
import { describe } from './example.ts';
import { httpsText, patternMessages, plainText } from './patterns.ts';

/** Builds the schema of one line of text; `describe` says what it is. */
export const buildLine = (minLength: number, maxLength: number, example: string) =>
  Type.String({ minLength, maxLength, pattern: plainText, examples: [example] });

/** Builds the schema of text that may have line breaks; `describe` says what it is. */
export const buildProse = (minLength: number, maxLength: number, example: string) =>
  Type.String({ minLength, maxLength, examples: [example] });

/** Builds the schema of up to five different tags. */
export const buildTags = (minItems: number) =>
  Type.Array(buildLine(3, 30, 'fun'), {
    minItems,
    maxItems: 5,
    uniqueItems: true,
    description: `${minItems} to 5 different tags of 3 to 30 characters.`,
  });

/** An https address of up to 512 characters; `checkAddresses` checks that it parses. */
export const HttpsAddress = Type.String({
  maxLength: 512,
  pattern: httpsText,
  description: 'An https address of up to 512 characters.',
  examples: ['https://example.org'],
});

/** Up to twenty named https addresses. */
export const LinksInput = Type.Array(
  Type.Object({
    name: describe(buildLine(1, 64, 'Website'), 'What the link is called, 1 to 64 characters.'),
    value: HttpsAddress,
  }),
  { maxItems: 20, description: 'Up to 20 links.' },
);
export type LinksInput = Static<typeof LinksInput>;

/** Throws `validation_failed`, which names the addresses (keyed by JSON Pointer) that do not parse. */
export const checkAddresses = (addresses: Readonly<Record<string, string>>): void => {
  const invalidPointers = Object.keys(addresses).filter((pointer) => !URL.canParse(addresses[pointer] ?? ''));
  if (invalidPointers.length === 0) return;
  throw createValidationError(
    'body',
    Object.fromEntries(invalidPointers.map((pointer) => [pointer, patternMessages[httpsText] ?? ''])),
  );
};

/** Returns the addresses of links, keyed by JSON Pointer. */
export const toLinkPointers = (links: LinksInput | null | undefined): Record<string, string> =>
  Object.fromEntries((links ?? []).map((link, index) => [`/extra_links/${index}/value`, link.value]));

/** Keeps only the name and the value of each link, since rows are shown as they are; `null` for no links. */
export const toLinkRows = (links: LinksInput | null | undefined): LinksInput | null =>
  links?.map(({ name, value }) => ({ name, value })) ?? null;

/** Throws `validation_failed`, which names the links that do not parse. */
export const checkLinks = (links: LinksInput | null | undefined): void =>
  checkAddresses(toLinkPointers(links));
