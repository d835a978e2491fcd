/**
 * Nodes on shared stores that send webhooks to receivers of the test, and the judgement at the end: each vote
 * has one delivery per endpoint, and what arrived is what SQL says.
 */
import * as assert from 'uvu/assert';
import { insertEndpoint } from '../../../storage/catalogue/webhooks/endpoints.ts';
import { createSecretBox } from '../../../storage/catalogue/webhooks/secrets.ts';
import type { Sql } from '../../../storage/sql/client.ts';
import { until } from '../../support/until.ts';
import { startWebhookReceivers, type WebhookReceivers } from '../../support/webhook-receivers.ts';
import { onServers, type ServersOptions, type ServersWorld } from '../harness/on-servers.ts';
import { outsider, type Stack } from '../harness/stack.ts';

export const secretsKey = '5a'.repeat(32);
const secret = `whsec_${Buffer.alloc(24, 7).toString('base64')}`;
/** A killed node's lease, and then what it held. */
export const recoveryMsMax = 180_000;

/** Adds an endpoint to a bot; its secret is sealed with `secretsKey`. */
export const addEndpoint = async (
  { stores }: Stack,
  { id, bot, url }: { readonly id: string; readonly bot: string; readonly url: string },
): Promise<void> => {
  const box = createSecretBox(Buffer.from(secretsKey, 'hex'));
  const sealed = { sealed: box.seal(secret, id), hint: '' };
  const fields = { name: 'x', url, events: ['vote.created'], format: 'standard', upOnly: false };
  const endpoint = { ...fields, id, secret: sealed, createdBy: '' };
  const target = { kind: 'bot', id: bot } as const;
  assert.is(await insertEndpoint(stores.sql, target, { endpoint, max: 5 }), 'created');
};

/** One endpoint per listing, and a second one, which never answers, for the first listing. */
const addEndpoints = async (stack: Stack, receivers: WebhookReceivers): Promise<void> => {
  for (const [index, bot] of [...stack.directory.bots, outsider].entries()) {
    const id = `00000000-0000-7000-8000-${String(index).padStart(12, '0')}`;
    await addEndpoint(stack, { id, bot, url: receivers.url('ok', bot) });
  }
  const [bot = ''] = stack.directory.bots;
  const url = receivers.url('silent', 'never');
  await addEndpoint(stack, { id: '00000000-0000-7000-9000-000000000000', bot, url });
};

/** Deliveries that wait, but those of the receiver that never answers. */
export const countPending = async ({ stores }: Stack): Promise<number> => {
  const [row] = await stores.sql<{ pending: number }[]>`
    select count(*) as pending from webhook_deliveries join webhook_endpoints as endpoint on id = endpoint_id
    where state = 0 and url not like '%/silent/%'`;
  return row?.pending ?? -1;
};

/** Requests to vote without exactly one delivery per endpoint, and endpoints whose counter is wrong. */
export const findFaults = (sql: Sql) => sql<{ fault: string }[]>`
  with request as (
    select incarnation, min(log_number) as number from votes group by incarnation, author, created_at
  )
  select 'vote ' || number || ' of ' || incarnation as fault
  from request join webhook_endpoints as endpoint using (incarnation)
  where not exists (
    select from webhook_deliveries where endpoint_id = endpoint.id and log_number = request.number)
  union all
  select 'delivery ' || log_number || ' of ' || endpoint_id from webhook_deliveries
  join webhook_endpoints as endpoint on endpoint.id = endpoint_id
  where not exists (
    select from request where request.incarnation = endpoint.incarnation and number = log_number)
  union all
  select 'counter of ' || id from webhook_endpoints as endpoint
  where pending <> (select count(*) from webhook_deliveries where endpoint_id = endpoint.id and state = 0)`;

/** Bodies by id, and how many requests repeated one. Throws when an id had two bodies. */
const judgeReceived = ({ received }: WebhookReceivers) => {
  const bodies = new Map<unknown, string>();
  let repeats = 0;
  for (const { path, headers, body } of received) {
    if (path.startsWith('/silent')) continue;
    const earlier = bodies.get(headers['webhook-id']);
    if (earlier !== undefined) repeats += 1;
    assert.is(body, earlier ?? body, 'two bodies of one id');
    bodies.set(headers['webhook-id'], body);
  }
  return { events: bodies.size, repeats };
};

/** Nodes that send to receivers of the test, and at the end the rows in SQL beside what has arrived. */
export const withReceivers = async (
  options: ServersOptions,
  task: (world: ServersWorld, receivers: WebhookReceivers) => Promise<void>,
) => {
  const receivers = await startWebhookReceivers();
  const settings = {
    WEBHOOK_ADDRESSES: 'any',
    WEBHOOK_TIMEOUT_SECONDS: '2',
    SECRETS_KEY: secretsKey,
    NODE_EXTRA_CA_CERTS: receivers.caFile,
  };
  try {
    return await onServers({ ...options, settings }, async (world) => {
      const { stack } = world;
      await addEndpoints(stack, receivers);
      await task(world, receivers);
      await until('all votes are in SQL', async () => (await stack.stores.hot.countBacklog()).votes === 0);
      await until('all is delivered', async () => (await countPending(stack)) === 0, recoveryMsMax);
      const faults = await findFaults(stack.stores.sql);
      assert.equal(
        faults.map(({ fault }) => fault),
        [],
      );
      const { events, repeats } = judgeReceived(receivers);
      const [row] = await stack.stores.sql<{ delivered: number }[]>`
        select count(*) as delivered from webhook_deliveries where state = 1`;
      assert.is(events, row?.delivered);
      assert.ok(events > 0);
      return { ...(await stack.judge()), events, repeats };
    });
  } finally {
    await receivers.close();
  }
};
