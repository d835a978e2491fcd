/**
 * Many simultaneous votes of one user on one entity: one is accepted, and all others get the same refusal;
 * at rest both stores have that one.
 *
 * The connections are open and warm before each round, so that the requests arrive together; a cold pool
 * would hide the race.
 */
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import * as assert from 'uvu/assert';
import { type Directory, type Target, tokenOf } from '../../support/directory.ts';
import { startNode } from '../../support/node-process.ts';
import { readAtRest } from '../harness/at-rest.ts';
import type { RunPlan } from '../harness/embedded-run.ts';
import type { Figures } from '../harness/figures.ts';

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
    let ended: Error | null = null;
    const fail = (error: Error): void => {
      ended ??= error;
      (waiting ?? { reject }).reject(error);
    };
    socket.on('error', fail).on('end', () => fail(new Error('the node closed a connection')));
    socket.on('connect', () =>
      resolve({
        ask: (request) =>
          new Promise((answered, failed) => {
            if (ended !== null) return failed(ended);
            waiting = { resolve: answered, reject: failed };
            socket.write(request);
          }),
        close: () => socket.destroy(),
      }),
    );
  });

/** A line that is opened again after it failed: on a busy machine it may be idle for too long. */
const openLastingLine = async (url: URL): Promise<Line> => {
  let line: Line | null = await openLine(url);
  return {
    ask: async (request) => {
      line ??= await openLine(url);
      try {
        return await line.ask(request);
      } catch (error) {
        line.close();
        line = null;
        throw error;
      }
    },
    close: () => line?.close(),
  };
};

/** The reply without its request's id and without the time left, which passes between two of them. */
const sameWords = ({ status, body }: Reply): string =>
  `${status} ${body
    .replace(/"request_id":"[^"]*"/, '')
    .replace(/\d+ h \d+ min \d+ s/, 'a while')
    .replace(/"(hours|minutes|seconds)":"\d+"/g, '$1')}`;

/** The rounds on a node of their own, then a look at its stores at rest. */
export const runSimultaneousVotes = async (plan: RunPlan, counts: RaceCounts): Promise<Figures> => {
  const { dataDir, directory } = plan;
  const node = await startNode({ dataDir });
  let figures: Figures;
  try {
    figures = await runRaces({ ...counts, url: node.url, directory });
  } finally {
    await node.stop();
  }
  const { rows, differences } = await readAtRest(dataDir, directory.targets);
  assert.equal(differences, []);
  const pairs = new Set(rows.map(({ user, target }) => `${user} on ${target}`));
  assert.equal([pairs.size, rows.length], [counts.rounds, counts.rounds], 'each pair has one vote');
  return figures;
};

/** Rounds of simultaneous votes, each with a new pair of user and target. */
const runRaces = async (plan: RacePlan): Promise<Figures> => {
  const startedMs = performance.now();
  const url = new URL(plan.url);
  const lines = await Promise.all(Array.from({ length: plan.connections }, () => openLastingLine(url)));
  let acked = 0;
  let unknown = 0;
  try {
    for (let round = 0; round < plan.rounds; round++) {
      if (await race(plan, lines, round)) acked += 1;
      else unknown += 1;
    }
  } finally {
    for (const line of lines) line.close();
  }
  const seconds = (performance.now() - startedMs) / 1_000;
  return { acked, lost: 0, doubled: 0, unknown, rounds: plan.rounds, seconds };
};

interface Decided {
  readonly reply: Reply;
  /** An earlier answer was `unknown`: the vote may be this one's, whatever the last answer says. */
  readonly unknown: boolean;
}

const attemptsMax = 120;
/** What `Retry-After` says. */
const pauseMs = 1_000;

/** A busy machine may answer 503, or close a connection: such a request is sent again. */
const askUntilDecided = async (line: Line, request: string): Promise<Decided> => {
  let unknown = false;
  for (let attempt = 1; ; attempt++) {
    const reply = await line.ask(request).catch((error: Error) => error);
    const open = reply instanceof Error || reply.status === 503;
    if (!open) return { reply, unknown };
    if (attempt === attemptsMax) throw reply instanceof Error ? reply : new Error(reply.body);
    unknown ||= reply instanceof Error || reply.body.includes('"outcome":"unknown"');
    await sleep(pauseMs);
  }
};

/** Whether one vote was accepted; false when it may be one with an unknown outcome. */
const race = async (plan: RacePlan, lines: readonly Line[], round: number): Promise<boolean> => {
  const { users, targets } = plan.directory;
  const user = users[round % users.length] ?? '';
  const target = targets[Math.floor(round / users.length) % targets.length] as Target;
  const head = `Host: localhost\r\nUser-Auth: ${tokenOf('user', user)}${headEnd}`;
  const warm = `GET /bots/@random HTTP/1.1\r\n${head}`;
  const vote = `PUT /users/${user}/${target.kind}/${target.id}/votes?upvote=true HTTP/1.1\r\n${head}`;
  await Promise.all(lines.map((line) => askUntilDecided(line, warm)));
  const decided: Decided[] = [];
  const share = Math.ceil(plan.votes / lines.length);
  await Promise.all(
    lines.map(async (line, index) => {
      const count = Math.min(share, plan.votes - index * share);
      for (let sent = 0; sent < count; sent++) decided.push(await askUntilDecided(line, vote));
    }),
  );
  const replies = decided.map(({ reply }) => reply);
  const accepted = replies.filter(({ status }) => status === 204).length;
  const words = new Set(replies.filter(({ status }) => status !== 204).map(sameWords));
  assert.is(replies.length, plan.votes);
  const enough = accepted === 1 || (accepted === 0 && decided.some(({ unknown }) => unknown));
  assert.ok(enough, `round ${round}: ${accepted} of ${plan.votes} votes were accepted`);
  assert.is(words.size, 1, `round ${round}: different refusals: ${[...words].join('\n')}`);
  assert.match([...words][0] ?? '', /^429 .*"code":"vote_wait"/);
  return accepted === 1;
};
