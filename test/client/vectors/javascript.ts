/**
 * Answers the cases of docs/vectors.json with the client for JavaScript: one line in, one line out.
 */
import { createInterface } from 'node:readline';
import { type LogPage, log } from '../../../http/client/log.ts';
import { type ReceivedRequest, receive } from '../../../http/client/receive.ts';
import {
  type Client,
  isRepeatable,
  isWorthRetrying,
  toError,
  toUnreachable,
  waitSecondsMax,
} from '../../../http/client/request.ts';

interface WebhookInput extends ReceivedRequest {
  readonly secrets: readonly string[];
  readonly now_seconds: number;
  readonly tolerance_seconds: number;
}

const answerWebhook = async (input: WebhookInput) => {
  const { secrets, now_seconds, tolerance_seconds: toleranceSeconds } = input;
  try {
    const { id, type } = await receive(input, secrets, { toleranceSeconds, nowMs: now_seconds * 1_000 });
    return { accepted: true, id, type };
  } catch {
    return { accepted: false };
  }
};

interface Reply {
  readonly status: number;
  readonly headers?: Record<string, string>;
  readonly body: string;
}
interface FailureInput {
  readonly request: { readonly method: string; readonly path: string; readonly keyed: boolean };
  readonly reply: Reply | null;
}

const toFailure = ({ status, headers = {}, body }: Reply) => toError(new Response(body, { status, headers }));

const answerFailure = async ({ request: { method, path, keyed }, reply }: FailureInput) => {
  const error = reply === null ? toUnreachable(new Error('reset')) : await toFailure(reply);
  const { code, retryAfterSeconds: wait_seconds } = error;
  const mayRepeat = isWorthRetrying(error, keyed || isRepeatable(method, path));
  return { repeat: mayRepeat && wait_seconds <= waitSecondsMax, code, wait_seconds };
};

interface LogInput {
  readonly after: string;
  readonly replies: readonly { readonly status: number; readonly body: object }[];
}

/** The log reads from a client that has these replies, and ends when there are no more. */
const answerLog = async ({ after, replies }: LogInput) => {
  const rest = [...replies];
  const requested: string[] = [];
  const abort = new AbortController();
  const request = async (_method: string, _path: string, options: { query?: { after?: string } } = {}) => {
    const reply = rest.shift();
    if (reply === undefined) {
      abort.abort();
      throw new Error('there are no more replies');
    }
    requested.push(options.query?.after ?? '');
    if (reply.status !== 200)
      throw await toFailure({ status: reply.status, body: JSON.stringify(reply.body) });
    return reply.body;
  };
  const pages: object[] = [];
  const client = { request } as unknown as Client;
  const show = ({ votes, cursor, restarted }: LogPage) => ({
    votes: votes.map(({ number }) => number),
    cursor,
    restarted,
  });
  for await (const page of log(client, { type: 'bot', id: '1' }, { after, signal: abort.signal }))
    pages.push(show(page));
  return { pages, requested };
};

const answers = { webhook: answerWebhook, failure: answerFailure, log: answerLog };

for await (const line of createInterface({ input: process.stdin })) {
  const { kind, input } = JSON.parse(line) as { kind: keyof typeof answers; input: never };
  process.stdout.write(`${JSON.stringify(await answers[kind](input))}\n`);
}
