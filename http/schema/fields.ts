/**
 * Fields of bodies that people write: text with bounds, tags, links. Lengths count Unicode code points.
 *
 * What a schema cannot say about a link (that it is an address) is in `checkLinks`. Used by schema and row
 * files.
 */
import { type Static, Type } from 'typebox';
import { DomainError } from '../../engine/errors.ts';
import { plainText } from './common.ts';

/** One line of text. */
export const lineOf = (minLength: number, maxLength: number, example: string) =>
  Type.String({ minLength, maxLength, pattern: plainText, examples: [example] });

/** Text that may have line breaks. */
export const proseOf = (minLength: number, maxLength: number, example: string) =>
  Type.String({ minLength, maxLength, examples: [example] });

/** Up to five different tags. */
export const tagsOf = (minItems: number) =>
  Type.Array(lineOf(3, 30, 'fun'), { minItems, maxItems: 5, uniqueItems: true });

/** Up to twenty named https addresses. */
export const LinksInput = Type.Array(
  Type.Object({
    name: lineOf(1, 64, 'Website'),
    value: Type.String({
      maxLength: 512,
      pattern: '^https://[^\\s\\u0000-\\u001f\\u007f]+$',
      description: 'An https address.',
      examples: ['https://example.org'],
    }),
  }),
  { maxItems: 20 },
);
export type LinksInput = Static<typeof LinksInput>;

/** Throws `validation_failed` naming the links that are no addresses. */
export const checkLinks = (links: LinksInput | null | undefined): void => {
  const context: Record<string, string> = {};
  for (const [index, link] of (links ?? []).entries()) {
    if (!URL.canParse(link.value)) context[`/extra_links/${index}/value`] = 'must be an https address';
  }
  const fields = Object.keys(context);
  if (fields.length === 0) return;
  const named = Object.fromEntries(Object.entries(context).slice(0, 16));
  throw new DomainError('validation_failed', `The body is not valid: ${fields.join(', ')}.`, named);
};
