/**
 * What a fault does to two nodes under load, and what it waits for: so many acknowledged changes, every node
 * serving again, the longest time without an acknowledged change.
 */
import * as assert from 'uvu/assert';
import { type ClientLog, nowMs, type Span } from '../../../bench/prove/client-log.ts';
import { tally } from '../../../bench/prove/judge.ts';
import { findSilenceMs } from '../../../bench/prove/silence.ts';
import type { Answer } from '../../../bench/shared/http-client.ts';
import { tokenOf } from '../../support/directory.ts';
import { until } from '../../support/until.ts';
import { round } from './figures.ts';
import { type Life, outsider, type Stack } from './stack.ts';

/** Runs the task while so many connections send requests. */
export const underLoad = async <Result>(
  stack: Stack,
  connections: number,
  task: () => Promise<Result>,
): Promise<Result> => {
  const load = stack.load(connections);
  try {
    return await task();
  } finally {
    await load.stop();
  }
};

/** Runs the task; resolves to the longest time without an acknowledged change, in seconds. */
export const timeSilence = async ({ log }: Stack, task: () => Promise<unknown>): Promise<number> => {
  const fromMs = nowMs();
  await task();
  return silenceSeconds(log, { fromMs, toMs: nowMs() });
};

/** The longest time between two acknowledged changes that touches the span, in seconds. */
export const silenceSeconds = (log: ClientLog, span: Span): number => round(findSilenceMs(log, span) / 1_000);

/** Resolves when so many more changes were acknowledged. */
export const acknowledged = (log: ClientLog, more: number): Promise<void> => {
  const before = tally(log).acked;
  return until(`${more} more acknowledged`, async () => tally(log).acked >= before + more, 90_000);
};

/** A change at one node, outside of the log. */
export const probe = ({ client }: Pick<Stack, 'client'>, { node }: Pick<Life, 'node'>): Promise<Answer> => {
  const headers = { 'Bot-Auth': tokenOf('bot', outsider), 'Content-Type': 'application/json' };
  return client.ask(`${node.url}/bots/stats`, { method: 'POST', headers, body: '{"servers":1}' });
};

/** A vote for the outsider at one node, outside of the log. */
export const voteForOutsider = (
  { client }: Pick<Stack, 'client'>,
  { node }: { readonly node: { readonly url: string } },
  { user, token = tokenOf('user', user) }: { readonly user: string; readonly token?: string },
): Promise<Answer> =>
  client.ask(`${node.url}/users/${user}/bots/${outsider}/votes?upvote=true`, {
    method: 'PUT',
    headers: { 'User-Auth': token },
  });

/** Resolves when the node refuses a change and says what became of it; not applied by default. */
export const untilRefuses = (stack: Stack, life: Life, outcome = /"outcome":"not_applied"/): Promise<void> =>
  until(`a node answers 503 with ${outcome}`, async () => {
    const { status, text, headers } = await probe(stack, life);
    assert.is(status, 503, text);
    assert.match(text, outcome);
    assert.ok(Number(headers['retry-after']) >= 1, 'says when to try again');
    return true;
  });

/** Resolves when every living node answers a change with this status. */
export const untilAll = (stack: Stack, status: 200 | 503): Promise<void> =>
  until(`every node answers ${status}`, async () => {
    const answers = await Promise.all(stack.alive().map((life) => probe(stack, life)));
    return answers.every((answer) => answer.status === status);
  });
