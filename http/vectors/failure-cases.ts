/**
 * Cases of requests that fail: which are repeated, and when. Pure.
 */
import type { Vector } from './vector.ts';

interface FailedRequest {
  readonly method?: string;
  readonly path?: string;
  /** It has an `Idempotency-Key`. */
  readonly keyed?: boolean;
}

interface FailedReply {
  readonly status: number;
  readonly retryAfter?: string;
  readonly code?: string;
  readonly context?: Readonly<Record<string, string>>;
  /** Instead of an error of ours. */
  readonly text?: string;
}

interface Outcome {
  readonly repeat: boolean;
  readonly code: string;
  readonly wait_seconds?: number;
}

const stats = { method: 'POST', path: '/bots/stats' };
const creation = { method: 'POST', path: '/bots' };

const buildFailure = (
  name: string,
  promise: string,
  given: readonly [FailedRequest, FailedReply | null, Outcome],
): Vector => {
  const [{ method = 'GET', path = '/bots/815553000470478850', keyed = false }, reply, outcome] = given;
  const { repeat, code, wait_seconds = 0 } = outcome;
  const error = {
    message: 'A message.',
    context: { ...reply?.context, code: reply?.code ?? '', request_id: 'r' },
  };
  const answer = { repeat, code, wait_seconds };
  return {
    id: `failure/${name}`,
    kind: 'failure',
    promise,
    input: {
      request: { method, path, keyed },
      reply: reply && {
        status: reply.status,
        headers: reply.retryAfter === undefined ? {} : { 'retry-after': reply.retryAfter },
        body: reply.text ?? JSON.stringify(error),
      },
    },
    answer,
    wrong: [
      { ...answer, repeat: !repeat },
      { ...answer, code: `${code}_` },
      { ...answer, wait_seconds: wait_seconds + 1 },
    ],
  };
};

const page = '<html><body>502 Bad Gateway</body></html>';

export const failureCases: readonly Vector[] = [
  buildFailure('limit', 'A limit is waited out, as long as `Retry-After` says.', [
    stats,
    { status: 429, code: 'rate_limited', retryAfter: '7' },
    { repeat: true, code: 'rate_limited', wait_seconds: 7 },
  ]),
  buildFailure('limit-of-a-creation', 'A refused request had no effect, so any may be repeated.', [
    creation,
    { status: 429, code: 'rate_limited', retryAfter: '2' },
    { repeat: true, code: 'rate_limited', wait_seconds: 2 },
  ]),
  buildFailure('wait-between-votes', 'A wait between votes is an answer: repeating it does not help.', [
    { method: 'PUT', path: '/users/1/bots/2/votes' },
    { status: 429, code: 'vote_wait', retryAfter: '30' },
    { repeat: false, code: 'vote_wait', wait_seconds: 30 },
  ]),
  buildFailure('longer-than-a-minute', 'A wait of more than a minute is left to the caller.', [
    stats,
    { status: 429, code: 'rate_limited', retryAfter: '61' },
    { repeat: false, code: 'rate_limited', wait_seconds: 61 },
  ]),
  buildFailure('a-minute', 'A wait of a minute is waited.', [
    stats,
    { status: 429, code: 'rate_limited', retryAfter: '60' },
    { repeat: true, code: 'rate_limited', wait_seconds: 60 },
  ]),
  ...['Fri, 27 Nov 2099 00:00:00 GMT', 'soon', '-5', '', '1e3', '0x10', 'Infinity', '7 s'].map((text) =>
    buildFailure(
      `wait-of-${text.replace(/\W+/g, '-') || 'nothing'}`,
      'Only a plain number of seconds names a wait.',
      [
        stats,
        { status: 429, code: 'rate_limited', retryAfter: text },
        { repeat: true, code: 'rate_limited' },
      ],
    ),
  ),
  buildFailure('not-applied', 'What says `not_applied` had no effect: repeat it, whatever it was.', [
    creation,
    { status: 503, code: 'store_unavailable', context: { outcome: 'not_applied' }, retryAfter: '1' },
    { repeat: true, code: 'store_unavailable', wait_seconds: 1 },
  ]),
  buildFailure('unknown', 'A creation that may have happened is not repeated.', [
    creation,
    { status: 503, code: 'store_unavailable', context: { outcome: 'unknown' }, retryAfter: '1' },
    { repeat: false, code: 'store_unavailable', wait_seconds: 1 },
  ]),
  buildFailure('unknown-but-keyed', 'With an `Idempotency-Key` a creation may be repeated.', [
    { ...creation, keyed: true },
    { status: 503, code: 'store_unavailable', context: { outcome: 'unknown' }, retryAfter: '1' },
    { repeat: true, code: 'store_unavailable', wait_seconds: 1 },
  ]),
  buildFailure('unknown-stats', 'A post of numbers has the same effect when it is sent twice.', [
    stats,
    { status: 504, code: 'deadline_passed', context: { outcome: 'unknown' } },
    { repeat: true, code: 'deadline_passed' },
  ]),
  buildFailure('unknown-vote', 'A vote that is sent twice counts once.', [
    { method: 'PUT', path: '/users/1/bots/2/votes' },
    { status: 503, code: 'store_unavailable', context: { outcome: 'unknown' } },
    { repeat: true, code: 'store_unavailable' },
  ]),
  buildFailure('no-reply', 'A read without a reply is repeated.', [
    {},
    null,
    { repeat: true, code: 'unreachable' },
  ]),
  buildFailure('no-reply-to-a-creation', 'A creation without a reply is not repeated.', [
    creation,
    null,
    { repeat: false, code: 'unreachable' },
  ]),
  ...[502, 504, 520, 530].map((status) =>
    buildFailure(
      `proxy-${status}`,
      'A proxy that cannot reach the server is waited out; its page is no error of ours.',
      [stats, { status, text: page }, { repeat: true, code: `status_${status}` }],
    ),
  ),
  ...(
    [
      [400, 'validation_failed'],
      [401, 'token_invalid'],
      [403, 'forbidden'],
      [404, 'not_found'],
      [409, 'limit_reached'],
      [413, 'body_too_large'],
      [500, 'internal'],
    ] as const
  ).map(([status, code]) =>
    buildFailure(`status-${status}`, 'What repeating cannot change is not repeated.', [
      stats,
      { status, code },
      { repeat: false, code },
    ]),
  ),
  buildFailure('an-error-of-a-proxy', 'JSON without a message is not ours.', [
    stats,
    { status: 403, text: '{"error":"blocked"}' },
    { repeat: false, code: 'status_403' },
  ]),
];
