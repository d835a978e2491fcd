/**
 * Many simultaneous votes of one user on one entity: one is accepted, and all others hear the same.
 *
 * The connections are open and warm before each round, so that the requests arrive together; a cold pool
 * would hide the race.
 */
import { connect, type Socket } from 'node:net';
import * as assert from 'uvu/assert';
import { type Directory, type Target, tokenOf } from '../support/directory.ts';
import { startNode } from '../support/node-process.ts';
import type { Figures } from './figures.ts';
import type { RunPlan } from './live.ts';

export interface RaceCounts {
  readonly rounds: number;
  readonly votes: number;
  readonly connections: number;
}
interface RacePlan extends RaceCounts {
  readonly url: string;
  readonly directory: Directory;
}
interface Reply {
  readonly status: number;
  readonly body: string;
}

/** One kept connection that sends requests one after the other and reads plain replies with a length. */
interface Line {
  ask(request: string): Promise<Reply>;
  close(): void;
}

const headEnd = '\r\n\r\n';

/** The first whole reply in the text, and what follows it. */
const takeReply = (text: string): { reply: Reply; rest: string } | null => {
  const end = text.indexOf(headEnd);
  if (end < 0) return null;
  const head = text.slice(0, end);
  const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0);
  const from = end + headEnd.length;
  if (text.length < from + length) return null;
  const reply = { status: Number(head.slice(9, 12)), body: text.slice(from, from + length) };
  return { reply, rest: text.slice(from + length) };
};

const openLine = (url: URL): Promise<Line> =>
  new Promise((resolve, reject) => {
    const socket: Socket = connect({ host: url.hostname, port: Number(url.port), noDelay: true });
    let text = '';
    let waiting: { resolve: (reply: Reply) => void; reject: (error: Error) => void } | null = null;
    socket.setEncoding('latin1').on('data', (chunk: string) => {
      text += chunk;
      const taken = takeReply(text);
      if (taken === null) return;
      text = taken.rest;
      waiting?.resolve(taken.reply);
    });
    const fail = (error: Error): void => (waiting ?? { reject }).reject(error);
    socket.on('error', fail).on('end', () => fail(new Error('the node closed a connection')));
    socket.on('connect', () =>
      resolve({
        ask: (request) =>
          new Promise((answered, failed) => {
            waiting = { resolve: answered, reject: failed };
            socket.write(request);
          }),
        close: () => socket.destroy(),
      }),
    );
  });

/** The reply without its request's id and without the time left, which passes between two of them. */
const sameWords = ({ status, body }: Reply): string =>
  `${status} ${body
    .replace(/"request_id":"[^"]*"/, '')
    .replace(/\d+ h \d+ min \d+ s/, 'a while')
    .replace(/"(hours|minutes|seconds)":"\d+"/g, '$1')}`;

/** The rounds on a node of their own. */
export const runRacesOnNode = async (plan: RunPlan, counts: RaceCounts): Promise<Figures> => {
  const node = await startNode({ dataDir: plan.dataDir });
  try {
    return await runRaces({ ...counts, url: node.url, directory: plan.directory });
  } finally {
    await node.stop();
  }
};

/** Rounds of simultaneous votes, each with a new pair of user and target. */
const runRaces = async (plan: RacePlan): Promise<Figures> => {
  const startedMs = performance.now();
  const url = new URL(plan.url);
  const lines = await Promise.all(Array.from({ length: plan.connections }, () => openLine(url)));
  let acked = 0;
  try {
    for (let round = 0; round < plan.rounds; round++) acked += await race(plan, lines, round);
  } finally {
    for (const line of lines) line.close();
  }
  const seconds = (performance.now() - startedMs) / 1_000;
  const lost = Math.max(0, plan.rounds - acked);
  return { acked, lost, doubled: Math.max(0, acked - plan.rounds), unknown: 0, rounds: plan.rounds, seconds };
};

/** A busy machine may answer 503, and then nothing was counted: such a vote is sent again. */
const askUntilDecided = async (line: Line, vote: string): Promise<Reply> => {
  let reply = await line.ask(vote);
  for (let again = 0; again < 20 && isNotApplied(reply); again++) reply = await line.ask(vote);
  return reply;
};

const isNotApplied = ({ status, body }: Reply): boolean =>
  status === 503 && body.includes('"outcome":"not_applied"');

const race = async (plan: RacePlan, lines: readonly Line[], round: number): Promise<number> => {
  const { users, targets } = plan.directory;
  const user = users[round % users.length] ?? '';
  const target = targets[Math.floor(round / users.length) % targets.length] as Target;
  const head = `Host: localhost\r\nUser-Auth: ${tokenOf('user', user)}${headEnd}`;
  const warm = `GET /bots/@random HTTP/1.1\r\n${head}`;
  const vote = `PUT /users/${user}/${target.kind}/${target.id}/votes?upvote=true HTTP/1.1\r\n${head}`;
  await Promise.all(lines.map((line) => line.ask(warm)));
  const replies: Reply[] = [];
  const share = Math.ceil(plan.votes / lines.length);
  await Promise.all(
    lines.map(async (line, index) => {
      const count = Math.min(share, plan.votes - index * share);
      for (let sent = 0; sent < count; sent++) replies.push(await askUntilDecided(line, vote));
    }),
  );
  const accepted = replies.filter(({ status }) => status === 204).length;
  const words = new Set(replies.filter(({ status }) => status !== 204).map(sameWords));
  assert.is(replies.length, plan.votes);
  assert.is(accepted, 1, `round ${round}: ${accepted} of ${plan.votes} votes were accepted`);
  assert.is(words.size, 1, `round ${round}: different refusals: ${[...words].join('\n')}`);
  assert.match([...words][0] ?? '', /^429 .*"code":"vote_wait"/);
  return accepted;
};
