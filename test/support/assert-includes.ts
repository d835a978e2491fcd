/**
 * Assertions that a text or a list has something, or has it not, which print both when they fail. `assert.ok`
 * would print `false`.
 */
import { format } from 'node:util';
import * as assert from 'uvu/assert';

/** Prints at most so much of a text or a list. */
const charactersMax = 2_000;

type Whole<Item> = string | readonly Item[] | undefined;

const has = <Item>(whole: Whole<Item>, part: Item): boolean =>
  (whole as readonly Item[] | undefined)?.includes(part) ?? false;

const fail = (whole: unknown, part: unknown, words: string): void =>
  assert.unreachable(`${words}: ${format('%O', part)} in ${format('%O', whole).slice(0, charactersMax)}`);

export const assertIncludes = <Item>(whole: Whole<Item>, part: Item, message = 'not included'): void => {
  if (!has(whole, part)) fail(whole, part, message);
};

export const assertExcludes = <Item>(whole: Whole<Item>, part: Item, message = 'included'): void => {
  if (has(whole, part)) fail(whole, part, message);
};
