/**
 * A node with webhooks at receivers of the test: its own template, votes with the time of their
 * acknowledgement, and what arrived.
 */
import * as assert from 'uvu/assert';
import { type Client, createClient } from '../../../bench/shared/http-client.ts';
import { directoryOf, tokenOf } from '../../support/directory.ts';
import { type StartedNode, startNode } from '../../support/node-process.ts';
import { makeTemplate, type Template } from '../../support/template.ts';
import type { ReceivedWebhook, WebhookReceivers } from '../../support/webhook-receivers.ts';

const sizes = { users: 1_000, bots: 100, servers: 0, teams: 1, packs: 0 };
export const { users, bots } = directoryOf(sizes);
export const timeoutSeconds = 2;

export const makeWebhookTemplate = (): Promise<Template> => makeTemplate(sizes);

export interface WebhookRun {
  readonly node: StartedNode;
  readonly client: Client;
  readonly receivers: WebhookReceivers;
}

/** Starts a node that trusts the receivers, runs the task, and ends the node. */
export const withNode = async <Result>(
  {
    dataDir,
    receivers,
    environment = {},
  }: {
    readonly dataDir: string;
    readonly receivers: WebhookReceivers;
    readonly environment?: Readonly<Record<string, string>>;
  },
  task: (run: WebhookRun) => Promise<Result>,
): Promise<Result> => {
  const node = await startNode({
    dataDir,
    settings: {
      TRUSTED_PROXIES: '127.0.0.1',
      WEBHOOK_ADDRESSES: 'any',
      WEBHOOK_TIMEOUT_SECONDS: String(timeoutSeconds),
      NODE_EXTRA_CA_CERTS: receivers.caFile,
      ...environment,
    },
  });
  const client = createClient(32);
  try {
    return await task({ node, client, receivers });
  } catch (error) {
    throw new Error(`${(error as Error).message}\n${node.output()}`, { cause: error });
  } finally {
    client.close();
    await node.kill();
  }
};

/** Creates a webhook for this bot at this address, from an address of its own: edits are limited. */
export const addWebhook = async ({ node, client }: WebhookRun, bot: string, url: string): Promise<void> => {
  const { status, text } = await client.ask(`${node.url}/bots/${bot}/webhooks`, {
    method: 'POST',
    headers: {
      authorization: `Bot ${tokenOf('bot', bot)}`,
      'x-forwarded-for': `10.0.0.${bots.indexOf(bot)}`,
    },
    body: JSON.stringify({ name: 'receiver', url }),
  });
  assert.is(status, 201, text);
};

/** Votes; resolves to when the vote was acknowledged, by the clock of `performance.now()`. */
export const vote = async ({ node, client }: WebhookRun, user: string, bot: string): Promise<number> => {
  const { status, text } = await client.ask(`${node.url}/users/${user}/bots/${bot}/votes?upvote=true`, {
    method: 'PUT',
    headers: { authorization: `User ${tokenOf('user', user)}` },
  });
  assert.is(status, 204, text);
  return performance.now();
};

interface ReceivedVote {
  readonly id: string;
  readonly bot: string;
  readonly user: string;
  readonly number: number;
  readonly atMs: number;
}

/** The votes among what arrived, in order. Every repeat of an id must have the same body. */
export const readVotes = (received: readonly ReceivedWebhook[]): readonly ReceivedVote[] => {
  const bodies = new Map<string, string>();
  return received.map(({ headers, body, atMs }) => {
    const id = String(headers['webhook-id']);
    assert.is(body, bodies.get(id) ?? body, `the body of ${id} is the same in every attempt`);
    bodies.set(id, body);
    const { data } = JSON.parse(body);
    return { id, bot: data.target.id, user: data.user.id, number: data.number, atMs };
  });
};
