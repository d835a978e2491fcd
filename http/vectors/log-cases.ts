/**
 * Cases of the vote log: which pages a client gives to its caller, and where it goes on. Pure.
 */
import type { Vector, VectorAnswer } from './vector.ts';

interface LogReply {
  readonly status: number;
  readonly body: VectorAnswer;
}

const buildVote = (number: number, request = number) => ({
  number,
  itag: `018f3b7e-7c1a-7d52-9d1e-${String(number).padStart(12, '0')}`,
  author: `user-${request}`,
  upvote: true,
  created_at: new Date(Date.UTC(2026, 2, 1, 12, 0, request)).toISOString(),
  void: false,
  void_reason: '',
});
type LoggedVote = ReturnType<typeof buildVote>;

const buildPage = (results: readonly LoggedVote[], next: string): LogReply => ({
  status: 200,
  body: { results, epoch: next.split('.')[0], next, head: next, oldest: `${next.split('.')[0]}.0` },
});

const restart: LogReply = {
  status: 409,
  body: {
    message: 'This cursor belongs to a log that no longer exists.',
    context: { code: 'log_restarted', head: '1-2b.9', oldest: '1-2b.0', request_id: 'r' },
  },
};

interface ReadPage {
  readonly votes: readonly number[];
  readonly cursor: string;
  readonly restarted: boolean;
}

const buildLog = (
  name: string,
  promise: string,
  given: readonly [
    after: string,
    replies: readonly LogReply[],
    pages: readonly ReadPage[],
    requested: readonly string[],
  ],
): Vector => {
  const [after, replies, pages, requested] = given;
  const answer = { pages, requested };
  return {
    id: `log/${name}`,
    kind: 'log',
    promise,
    input: { after, replies },
    answer,
    wrong: [
      { ...answer, pages: [] },
      { ...answer, requested: requested.map(() => after) },
      { ...answer, pages: pages.map((each) => ({ ...each, restarted: !each.restarted })) },
    ].map((each, index) =>
      JSON.stringify(each) === JSON.stringify(answer) ? { ...each, requested: [index] } : each,
    ),
  };
};

export const logCases: readonly Vector[] = [
  buildLog('one-page', 'Votes come in order, with the cursor behind them.', [
    '0-1x.4',
    [buildPage([buildVote(5), buildVote(6)], '0-1x.6')],
    [{ votes: [5, 6], cursor: '0-1x.6', restarted: false }],
    ['0-1x.4'],
  ]),
  buildLog('two-pages', 'It goes on from `next`, not from the number of a vote.', [
    '0-1x.0',
    [buildPage([buildVote(1)], '0-1x.3'), buildPage([buildVote(4)], '0-1x.4')],
    [
      { votes: [1], cursor: '0-1x.3', restarted: false },
      { votes: [4], cursor: '0-1x.4', restarted: false },
    ],
    ['0-1x.0', '0-1x.3'],
  ]),
  buildLog('rows-of-one-request', 'The votes of one request come in one page.', [
    '0-1x.0',
    [buildPage([buildVote(1, 1), buildVote(2, 1)], '0-1x.2')],
    [{ votes: [1, 2], cursor: '0-1x.2', restarted: false }],
    ['0-1x.0'],
  ]),
  buildLog('restarted', 'A log that began again is read from its oldest vote, and the caller learns of it.', [
    '0-1x.900',
    [restart, buildPage([buildVote(1)], '1-2b.1')],
    [{ votes: [1], cursor: '1-2b.1', restarted: true }],
    ['0-1x.900', '1-2b.0'],
  ]),
  buildLog('restarted-once', 'Only the first page after the restart says so.', [
    '0-1x.900',
    [restart, buildPage([buildVote(1)], '1-2b.1'), buildPage([buildVote(2)], '1-2b.2')],
    [
      { votes: [1], cursor: '1-2b.1', restarted: true },
      { votes: [2], cursor: '1-2b.2', restarted: false },
    ],
    ['0-1x.900', '1-2b.0', '1-2b.1'],
  ]),
  buildLog('oldest', 'Who begins at the oldest vote asks where that is.', [
    'oldest',
    [buildPage([], '0-1x.7'), buildPage([buildVote(1)], '0-1x.1')],
    [{ votes: [1], cursor: '0-1x.1', restarted: false }],
    ['', '0-1x.0'],
  ]),
  buildLog('head', 'Who begins at the head gets new votes alone.', [
    'head',
    [buildPage([], '0-1x.7'), buildPage([buildVote(8)], '0-1x.8')],
    [{ votes: [8], cursor: '0-1x.8', restarted: false }],
    ['', '0-1x.7'],
  ]),
];
