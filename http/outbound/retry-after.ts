/**
 * Reads how long another service wants us to wait.
 */
import type { IncomingHttpHeaders } from 'node:http';

/** A date of RFC 9110: the usual form, then the two old ones. The last has no zone. */
const dates = [
  /^\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT$/,
  /^\w{6,9}, \d\d-\w{3}-\d\d \d\d:\d\d:\d\d GMT$/,
  /^\w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4}$/,
];
const decimal = /^\d{1,9}(\.\d{0,9})?$/;

/**
 * Parses `Retry-After`, in seconds or as a date: relative to the service's own clock, or to ours where the
 * answer has no `Date`. Some chat services send milliseconds there, and seconds in `X-RateLimit-Reset-After`
 * or as `retry_after` of their JSON: those win. `undefined` when there is none; the caller bounds it.
 */
export const parseRetryAfterMs = (headers: IncomingHttpHeaders, body = ''): number | undefined => {
  const named = readHeader(headers, 'retry-after');
  const reset = readHeader(headers, 'x-ratelimit-reset-after');
  if (decimal.test(reset)) return toMs(Number(reset));
  const stated = readStated(body);
  // A whole number above that of the header may be one of milliseconds.
  if (stated % 1 > 0 || stated <= Number(named)) return toMs(stated);
  return decimal.test(named) ? toMs(Number(named)) : parseDate(named, headers);
};

const toMs = (seconds: number): number => Math.ceil(seconds * 1_000);

/** A header that came twice counts once. */
const readHeader = (headers: IncomingHttpHeaders, name: string): string =>
  [headers[name]].flat()[0]?.trim() ?? '';

const parseDate = (text: string, { date = '' }: IncomingHttpHeaders): number | undefined => {
  const form = dates.findIndex((pattern) => pattern.test(text));
  const untilMs = Date.parse(form === dates.length - 1 ? `${text} GMT` : text);
  if (form < 0 || Number.isNaN(untilMs)) return undefined;
  const theirMs = Date.parse(date);
  return Math.max(0, untilMs - (Number.isNaN(theirMs) ? Date.now() : theirMs));
};

/** What a JSON body states, `NaN` for nothing. */
const readStated = (body: string): number =>
  Number(/"retry_after"\s*:\s*(\d{1,9}(?:\.\d{1,9})?)\s*[,}]/.exec(body)?.[1] ?? Number.NaN);
