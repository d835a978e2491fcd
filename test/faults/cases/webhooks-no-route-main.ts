/**
 * The program that webhooks-no-route.fault.ts runs where no route leads anywhere: three nodes, a vote whose
 * webhook and a message whose browser are at a name with only an IPv6 address. Prints its figures as JSON.
 */
import * as assert from 'uvu/assert';
import { startPushService } from '../../support/push-service.ts';
import { until } from '../../support/until.ts';
import { onServers } from '../harness/on-servers.ts';
import { type Life, outsider, type Stack } from '../harness/stack.ts';
import { voteForOutsider } from '../harness/waits.ts';
import { addEndpoint, secretsKey } from './webhooks-servers.ts';

const url = 'https://only-six.example.org/';
const waitMsMax = 60_000;

/** A message that is due, for a browser whose push service is there. */
const addMessage = async ({ stores: { sql }, directory }: Stack): Promise<void> => {
  const [user = ''] = directory.users;
  const service = await startPushService();
  const { auth, p256dh } = service.browser();
  await service.close();
  await sql`
    insert into push_subscriptions (id, user_id, endpoint, auth, p256dh, browser_info, created_at)
    values (gen_random_uuid(), ${user}, ${url}, ${auth}, ${p256dh}, '{}', now())`;
  await sql`
    insert into reminders (incarnation, user_id, created_at)
    select incarnation, ${user}, now() from totals where kind = 'bot' and entity_id = ${outsider}`;
  await sql`
    insert into push_messages (subscription_id, incarnation, user_id, next_at_ms)
    select push_subscriptions.id, incarnation, reminders.user_id, 0 from push_subscriptions, reminders`;
};

const countAttempts = async ({ stores: { sql } }: Stack) => {
  const [row] = await sql<{ webhooks: number; errors: string; messages: number }[]>`
    select (select coalesce(sum(tries), 0)::int from webhook_deliveries) as webhooks,
      (select coalesce(string_agg(distinct attempt ->> 'error', ' '), '')
        from webhook_deliveries, jsonb_array_elements(attempts) as attempt) as errors,
      (select coalesce(sum(attempts), 0)::int from push_messages) as messages`;
  return row ?? { webhooks: 0, errors: '', messages: 0 };
};

const settings = { WEBHOOK_ADDRESSES: 'any', PUSH_ADDRESSES: 'any', SECRETS_KEY: secretsKey };
const figures = await onServers({ seed: 1, nodes: 3, settings }, async ({ stack }) => {
  await addEndpoint(stack, { id: '00000000-0000-7000-8000-000000000000', bot: outsider, url });
  const [voter] = stack.alive();
  const [user = ''] = stack.directory.users;
  assert.is((await voteForOutsider(stack, voter as Life, { user })).status, 204);
  await addMessage(stack);
  await until(
    'two attempts of the webhook',
    async () => (await countAttempts(stack)).webhooks >= 2,
    waitMsMax,
  );
  await until('an attempt of the message', async () => (await countAttempts(stack)).messages >= 1, waitMsMax);
  for (const { node } of stack.alive()) assert.is((await fetch(`${node.url}/openapi.json`)).status, 200);
  const { webhooks, errors, messages } = await countAttempts(stack);
  assert.is(errors, 'connection');
  await stack.rest();
  return { nodes: stack.lives.length, webhooks, messages };
});
console.log(JSON.stringify(figures));
