/**
 * Parses JSON with integers beyond 2^53 as the text that was sent, which `JSON.parse` rounds.
 *
 * Only a text with such an integer is parsed a second time, because reading the source of each value takes
 * several times as long. Pure.
 */
const longNumber = /[:[,]\s*-?\d{16}/;

/** Whether a text may have an integer that parsing rounds; one with an exponent it does not find. */
export const hasLongNumber = (text: string): boolean => longNumber.test(text);

/** Such an integer is the text that was sent where `isKept` holds for its key. Throws as `JSON.parse`. */
export const parseExact = (text: string, isKept: (key: string, source: string) => boolean): unknown =>
  JSON.parse(text, (key: string, value: unknown, context?: { readonly source?: string }) => {
    const { source = '' } = context ?? {};
    const isRounded = typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value);
    return isRounded && isKept(key, source) ? source : value;
  });
