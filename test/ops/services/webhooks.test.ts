/**
 * Webhooks when a node starts or has died: what the process before was sending goes on soon where no other
 * node can have it, and waits for the end of its lease where another node may. Nothing that befalls a node
 * counts as a failure of a receiver.
 */
import { randomUUID } from 'node:crypto';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createMetrics } from '../../../http/telemetry/metrics.ts';
import { systemClock } from '../../../ops/clock.ts';
import { openWebhooks, type Webhooks, type WebhooksParts } from '../../../ops/services/webhooks.ts';
import { insertEndpoint } from '../../../storage/catalogue/webhooks/endpoints.ts';
import { createWebhookQueue } from '../../../storage/catalogue/webhooks/queue.ts';
import { createSecretBox } from '../../../storage/catalogue/webhooks/secrets.ts';
import { createLedger } from '../../../storage/ledger/ledger.ts';
import { addBot, addUser, openDirectory } from '../../storage/catalogue/directory.ts';
import { vote } from '../../storage/ledger/world.ts';
import { usualRules } from '../../support/rules.ts';
import { until } from '../../support/until.ts';
import { type Behaviour, startWebhookReceivers } from '../../support/webhook-receivers.ts';

const test = suite('webhooks of a node that starts');
const { sql, close } = await openDirectory();
const receivers = await startWebhookReceivers();
const secretsKey = '5a'.repeat(32);
const hourMs = 3_600_000;
test.after(async () => {
  await receivers.close();
  await close();
});

const openNode = (shared: boolean, others: Partial<WebhooksParts> = {}): Promise<Webhooks> =>
  openWebhooks(
    {
      sql,
      shared,
      meters: createMetrics([], { version: '1.2.3', commit: 'unknown' }).webhooks,
      windows: usualRules.windows,
      clock: systemClock,
      sending: { ca: receivers.ca, resolve: async () => ['127.0.0.1'] },
      log: () => {},
      ...others,
    },
    { webhooks: 'on', webhookAddresses: 'any', webhookTimeoutSeconds: 5, webhookDisableDays: 5, secretsKey },
  );

/** A bot with as many votes, and an endpoint that behaves like this. Returns the endpoint's id. */
const addVoted = async (behaviour: Behaviour, name: string, votes: number): Promise<string> => {
  const ref = await addBot(sql, name);
  const id = randomUUID();
  const box = createSecretBox(Buffer.from(secretsKey, 'hex'));
  const secret = { sealed: box.seal(`whsec_${Buffer.alloc(24, 7).toString('base64')}`, id), hint: '' };
  const fields = {
    name: 'x',
    url: receivers.url(behaviour, name),
    events: ['vote.created'],
    format: 'standard',
  };
  const endpoint = { ...fields, id, upOnly: false, secret, createdBy: 'robin' };
  assert.is(await insertEndpoint(sql, ref, { endpoint, max: 5 }), 'created');
  const cast = Array.from({ length: votes }, (_, index) => vote(ref, ref.incarnation * 100 + index));
  await createLedger(sql).flush({ entities: [], votes: cast });
  return id;
};

/** A vote whose sender holds a lease of an hour; its process has died. */
const leave = async (): Promise<void> => {
  await addUser(sql, 'robin');
  await addVoted('ok', 'bot1', 1);
  const request = { nowMs: Date.now(), leaseMs: hourMs, limit: 1, unprovenLimit: 1, lapsePauseMs: 0 };
  assert.is((await createWebhookQueue(sql).take(request)).length, 1);
};

const readLeaseMs = async (): Promise<number> => {
  const [row] = await sql<{ ms: number }[]>`select lease_until_ms as ms from webhook_endpoints`;
  return (row?.ms ?? 0) - Date.now();
};

test('a node that shares its stores leaves others their leases; the only node ends them', async () => {
  await leave();
  const shared = await openNode(true);
  await shared.look();
  await shared.close(0);
  assert.ok((await readLeaseMs()) > hourMs / 2);

  const alone = await openNode(false);
  assert.ok((await readLeaseMs()) <= 0);
  await until(
    'the delivery',
    async () => {
      await alone.look();
      return receivers.received.length > 0;
    },
    15_000,
  );
  await alone.close(5_000);
});

const countReceived = (name: string): number =>
  receivers.received.filter(({ path }) => path.endsWith(`/${name}`)).length;
const readDeliveries = (id: string) => sql<{ state: number; tries: number; attempts: number }[]>`
  select state, tries, jsonb_array_length(attempts) as attempts from webhook_deliveries
  where endpoint_id = ${id} order by log_number`;
const readHealth = async (id: string): Promise<readonly unknown[]> => {
  const [row] = await sql<{ failures: number; failing_since_ms: number; wait_until_ms: number }[]>`
    select failures, failing_since_ms, wait_until_ms from webhook_endpoints where id = ${id}`;
  return [row?.failures, row?.failing_since_ms, row?.wait_until_ms];
};

test('deaths while a node sends delay what the second one was sending, and nothing else', async () => {
  const id = await addVoted('silent', 'deaths', 12);
  const nodes: Webhooks[] = [];
  /** Opens a node that sends until so many requests have arrived in all, and takes its lease away. */
  const sendAndDie = async (total: number): Promise<void> => {
    const node = await openNode(true);
    nodes.push(node);
    await node.look();
    await until('the requests', () => countReceived('deaths') >= total);
    await sql`update webhook_endpoints set lease_until_ms = 1 where id = ${id}`;
  };
  await sendAndDie(8);
  assert.ok(
    (await readDeliveries(id)).every(({ tries }) => tries === 0),
    'nothing is written before',
  );
  await sendAndDie(16);
  assert.equal(
    (await readDeliveries(id)).map(({ tries }) => tries),
    [1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0],
  );
  receivers.change('silent', 'ok');
  await sendAndDie(20);
  await until(
    'the others',
    async () => (await readDeliveries(id)).filter(({ state }) => state === 1).length === 4,
  );
  assert.equal(await readHealth(id), [0, 0, 0]);

  await nodes.at(-1)?.close(5_000);
  receivers.change('silent', 'silent');
  await sql`update webhook_deliveries set next_at_ms = 0 where endpoint_id = ${id}`;
  await sql`update webhook_endpoints set due_at_ms = 1, lease_until_ms = 0 where id = ${id}`;
  await sendAndDie(21);
  const begun = (await readDeliveries(id)).map(({ tries, attempts }) => tries - attempts);
  assert.equal(begun, [2, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0], 'what was begun before goes alone');
  receivers.change('silent', 'ok');
  for (const node of nodes) await node.close(0);
});

test('SQL that is away when an outcome is known gets it later: nothing is sent again', async () => {
  const id = await addVoted('ok', 'away', 1);
  const lines: string[] = [];
  let away = false;
  const refused = Promise.reject(Object.assign(new Error('away'), { code: 'ECONNREFUSED' }));
  // Parts of statements are built by such calls, too, and no code waits for those.
  refused.catch(() => undefined);
  const refusing = new Proxy(sql, {
    apply: (target, self, args) => (away ? refused : Reflect.apply(target, self, args)),
  });
  const clock = { ...systemClock, after: (_: number, task: () => void) => systemClock.after(1, task) };
  const node = await openNode(true, { sql: refusing, clock, log: (message) => lines.push(message) });
  receivers.beforeAnswer(() => {
    away = true;
  });
  await node.look();
  await until('a failure', () => lines.length > 0);
  receivers.beforeAnswer(() => undefined);
  away = false;
  await until('the record', async () => (await readDeliveries(id))[0]?.state === 1);
  assert.equal([countReceived('away'), await readHealth(id)], [1, [0, 0, 0]]);
  await node.close(0);
});

test('what fails again and again while SQL is away is one line of the log', async () => {
  let away = false;
  const lines: string[] = [];
  const refusing = new Proxy(sql, {
    apply: (target, self, args) =>
      away ? Promise.reject(new Error('away')) : Reflect.apply(target, self, args),
  });
  const node = await openNode(false, { sql: refusing, log: (message) => lines.push(message) });
  away = true;
  for (let edit = 0; edit < 5; edit++) node.access.onEdited();
  await new Promise((resolve) => setTimeout(resolve, 50));
  away = false;
  await node.close(0);

  assert.equal(lines, ['webhooks were not sent']);
});

test.run();
