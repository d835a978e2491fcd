/**
 * Fields of bodies that people write: text with bounds, tags, links. Lengths count Unicode code points.
 *
 * What a schema cannot say about a link (that it is an address) is in `checkLinks`. Used by schema and row
 * files.
 */
import { type Static, Type } from 'typebox';
import { httpsText, patternMessages, plainText } from '../request/patterns.ts';
import { createValidationError } from '../response/validation-error.ts';

/** One line of text. */
export const buildLine = (minLength: number, maxLength: number, example: string) =>
  Type.String({ minLength, maxLength, pattern: plainText, examples: [example] });

/** Text that may have line breaks. */
export const buildProse = (minLength: number, maxLength: number, example: string) =>
  Type.String({ minLength, maxLength, examples: [example] });

/** Up to five different tags. */
export const buildTags = (minItems: number) =>
  Type.Array(buildLine(3, 30, 'fun'), { minItems, maxItems: 5, uniqueItems: true });

/** An https address of up to 512 characters; `checkAddresses` judges what a pattern cannot. */
export const HttpsAddress = Type.String({
  maxLength: 512,
  pattern: httpsText,
  description: 'An https address.',
  examples: ['https://example.org'],
});

/** Up to twenty named https addresses. */
export const LinksInput = Type.Array(
  Type.Object({ name: buildLine(1, 64, 'Website'), value: HttpsAddress }),
  {
    maxItems: 20,
  },
);
export type LinksInput = Static<typeof LinksInput>;

/** Throws `validation_failed` naming what is no address, of values keyed by their JSON Pointers. */
export const checkAddresses = (addresses: Readonly<Record<string, string>>): void => {
  const fields = Object.keys(addresses).filter((pointer) => !URL.canParse(addresses[pointer] ?? ''));
  if (fields.length === 0) return;
  throw createValidationError(
    'body',
    Object.fromEntries(fields.map((pointer) => [pointer, patternMessages[httpsText] ?? ''])),
  );
};

/** The addresses of links by their JSON Pointers. */
export const toLinkPointers = (links: LinksInput | null | undefined): Record<string, string> =>
  Object.fromEntries((links ?? []).map((link, index) => [`/extra_links/${index}/value`, link.value]));

/** Throws `validation_failed` naming the links that are no addresses. */
export const checkLinks = (links: LinksInput | null | undefined): void =>
  checkAddresses(toLinkPointers(links));
