/**
 * Webhooks when a node starts: what the process before was sending when it died goes on soon where no other
 * node can have it, and waits for the end of its lease where another node may.
 */
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
import { startWebhookReceivers } from '../../support/webhook-receivers.ts';

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

/** A vote whose sender holds a lease of an hour; its process has died. */
const leave = async (): Promise<void> => {
  await addUser(sql, 'robin');
  const ref = await addBot(sql, 'bot1');
  const id = '00000000-0000-7000-8000-000000000001';
  const box = createSecretBox(Buffer.from(secretsKey, 'hex'));
  const secret = { sealed: box.seal(`whsec_${Buffer.alloc(24, 7).toString('base64')}`, id), hint: '' };
  const fields = { name: 'x', url: receivers.url('ok'), events: ['vote.created'], format: 'standard' };
  const endpoint = { ...fields, id, upOnly: false, secret, createdBy: 'robin' };
  assert.is(await insertEndpoint(sql, ref, { endpoint, max: 5 }), 'created');
  await createLedger(sql).flush({ entities: [], votes: [vote(ref, 1)] });
  const request = { nowMs: Date.now(), leaseMs: hourMs, limit: 1, unprovenLimit: 1, lapsePausesMs: [0] };
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
