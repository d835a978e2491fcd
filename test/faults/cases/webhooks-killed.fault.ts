/**
 * kill -9 of nodes under votes on listings with webhooks: between a flush and its requests, between an answer
 * and its record, at any instant. Each vote has one delivery per endpoint and reaches the receiver at least
 * once, always with the same id and the same body. Time limit: 1200 s.
 */
import { fileURLToPath } from 'node:url';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { insertEndpoint } from '../../../storage/catalogue/webhooks/endpoints.ts';
import { createSecretBox } from '../../../storage/catalogue/webhooks/secrets.ts';
import { until } from '../../support/until.ts';
import { startWebhookReceivers, type WebhookReceivers } from '../../support/webhook-receivers.ts';
import { faultCase } from '../harness/fault-case.ts';
import { onServers } from '../harness/on-servers.ts';
import { type Life, outsider, type Stack } from '../harness/stack.ts';
import { acknowledged, underLoad, voteForOutsider } from '../harness/waits.ts';

const test = suite('kill -9 of nodes that send webhooks');
/** The program with named points at which it dies. */
const program = fileURLToPath(new URL('../harness/crash-main.ts', import.meta.url));
const secretsKey = '5a'.repeat(32);
const secret = `whsec_${Buffer.alloc(24, 7).toString('base64')}`;
/** A killed node's lease, and then what it held. */
const recoveryMsMax = 180_000;

/** One endpoint per listing, and a second one, which never answers, for the first listing. */
const addEndpoints = async ({ stores, directory }: Stack, receivers: WebhookReceivers): Promise<void> => {
  const box = createSecretBox(Buffer.from(secretsKey, 'hex'));
  const add = async (id: string, botId: string, url: string): Promise<void> => {
    const sealed = { sealed: box.seal(secret, id), hint: '' };
    const fields = { name: 'x', url, events: ['vote.created'], format: 'standard', upOnly: false };
    const endpoint = { ...fields, id, secret: sealed, createdBy: '' };
    const target = { kind: 'bot', id: botId } as const;
    assert.is(await insertEndpoint(stores.sql, target, { endpoint, max: 5 }), 'created');
  };
  for (const [index, bot] of [...directory.bots, outsider].entries()) {
    await add(`00000000-0000-7000-8000-${String(index).padStart(12, '0')}`, bot, receivers.url('ok', bot));
  }
  const [first = ''] = directory.bots;
  await add('00000000-0000-7000-9000-000000000000', first, receivers.url('silent', 'never'));
};

const killNodes = async (stack: Stack, kills: number): Promise<void> => {
  for (let round = 0; round < kills; round++) {
    await acknowledged(stack.log, 60 + stack.random.below(120));
    await stack.kill(stack.random.pick(stack.alive()) as Life);
    await stack.open();
  }
  await acknowledged(stack.log, 60);
};

/** Deliveries that wait, but those of the receiver that never answers. */
const countPending = async ({ stores }: Stack): Promise<number> => {
  const [row] = await stores.sql<{ pending: number }[]>`
    select count(*) as pending from webhook_deliveries join webhook_endpoints as endpoint on id = endpoint_id
    where state = 0 and url not like '%/silent/%'`;
  return row?.pending ?? -1;
};

/** Requests to vote without exactly one delivery per endpoint, and endpoints whose counter is wrong. */
const findFaults = ({ stores }: Stack) => stores.sql<{ fault: string }[]>`
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
const withReceivers = async (
  { seed, nodes }: { readonly seed: number; readonly nodes: number },
  task: (stack: Stack, receivers: WebhookReceivers) => Promise<void>,
) => {
  const receivers = await startWebhookReceivers();
  const settings = {
    WEBHOOK_ADDRESSES: 'any',
    WEBHOOK_TIMEOUT_SECONDS: '2',
    SECRETS_KEY: secretsKey,
    NODE_EXTRA_CA_CERTS: receivers.caFile,
  };
  try {
    return await onServers({ seed, nodes, settings }, async ({ stack }) => {
      await addEndpoints(stack, receivers);
      await task(stack, receivers);
      await until('all votes are in SQL', async () => (await stack.stores.hot.countBacklog()).votes === 0);
      await until('all is delivered', async () => (await countPending(stack)) === 0, recoveryMsMax);
      const faults = await findFaults(stack);
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

faultCase(test, {
  title: 'every vote reaches every receiver at least once, with one id and one body; one is dead throughout',
  name: 'kill -9 of nodes that send webhooks',
  counts: { faults: 5 },
  run: async ({ seed, count }) => ({
    ...(await withReceivers({ seed, nodes: 2 }, (stack) =>
      underLoad(stack, 8, () => killNodes(stack, count)),
    )),
    rounds: count,
  }),
});

/** The node dies when the flush of its first vote is committed, before it sends anything. */
const dieAfterFlush = async (stack: Stack, receivers: WebhookReceivers): Promise<void> => {
  const victim = await stack.open({ program, settings: { CRASH_AT: 'after-ledger.flush:1' } });
  assert.is((await voteForOutsider(stack, victim, { user: stack.directory.users[0] as string })).status, 204);
  await victim.node.exited;
  await stack.kill(victim);
  assert.is(await countPending(stack), 1);
  assert.is(receivers.received.length, 0);
};

/** The next node stops while its request is at the receiver, and dies when the answer is on its way. */
const dieAfterAnswer = async (stack: Stack, receivers: WebhookReceivers): Promise<void> => {
  const opening = stack.open();
  receivers.beforeAnswer(async () => (await opening).node.signal('SIGSTOP'));
  await until('a request is answered', () => receivers.answered() === 1, recoveryMsMax);
  receivers.beforeAnswer(() => undefined);
  await stack.kill(await opening);
  assert.is(await countPending(stack), 1, 'the answer is not recorded');
};

faultCase(test, {
  title: 'a vote whose node dies before its request, and again between answer and record, keeps its id',
  name: 'kill -9 around the request of a webhook',
  once: true,
  run: async ({ seed }) => {
    const figures = await withReceivers({ seed, nodes: 0 }, async (stack, receivers) => {
      await dieAfterFlush(stack, receivers);
      await dieAfterAnswer(stack, receivers);
      await stack.open();
    });
    assert.equal([figures.events, figures.repeats], [1, 1]);
    return { ...figures, rounds: 2 };
  },
});

test.run();
