/**
 * What an edit of a webhook endpoint does to deliveries that wait. Run on both kinds of SQL.
 */
import * as assert from 'uvu/assert';
import { enqueueReplay } from '../../../storage/catalogue/webhooks/deliveries.ts';
import { updateEndpoint } from '../../../storage/catalogue/webhooks/endpoints.ts';
import { createWebhookQueue } from '../../../storage/catalogue/webhooks/queue.ts';
import { addEndpoint, type Claims, nowMs, takeOne, wanted } from './webhooks.ts';
import { type RealWorld, vote } from './world.ts';

export const registerWebhookEditTests = (test: Claims, open: () => RealWorld): void => {
  test('webhooks: a replay waits for its sender while its endpoint is disabled and edited', async () => {
    const { ledger, list, sql } = open();
    const ref = await list('hook-disabled-replay');
    const id = await addEndpoint(sql, ref);
    await ledger.flush({ entities: [], votes: [vote(ref, 62_551)] });
    const queue = createWebhookQueue(sql);
    const lease = await takeOne(sql, id);
    const page = await queue.readPage(lease, wanted);
    assert.ok(page);
    const range = { fromNumber: 1, toNumber: 1 };
    const { incarnation } = ref;
    const replay = { id, incarnation, format: 'standard', scope: 'listing', upOnly: false, range, nowMs };
    assert.is(await enqueueReplay(sql, replay), 1);
    assert.ok(await queue.disable((page as NonNullable<typeof page>).endpoint, 'gone'));
    const again = await queue.readPage(await takeOne(sql, id), wanted);
    assert.equal(
      again?.deliveries.map(({ number, replay: marked }) => [number, marked]),
      [[1, true]],
    );

    await sql`update webhook_endpoints set lease_until_ms = 0, due_at_ms = null where id = ${id}`;
    assert.ok(await updateEndpoint(sql, ref, { id, changes: { name: 'y' }, nowMs }));
    await takeOne(sql, id);
  });

  test('webhooks: after a change of format, waiting deliveries are built in the new format', async () => {
    const { ledger, list, sql } = open();
    const ref = await list('hook-format');
    const id = await addEndpoint(sql, ref);
    await ledger.flush({ entities: [], votes: [vote(ref, 62_561)] });
    await sql`update webhook_deliveries set body = 'as JSON' where endpoint_id = ${id}`;
    const readBody = async () =>
      (
        await sql<{ body: string | null }[]>`
        select body from webhook_deliveries where endpoint_id = ${id}`
      )[0]?.body;
    await updateEndpoint(sql, ref, { id, changes: { name: 'y', format: 'standard' }, nowMs });
    assert.is(await readBody(), 'as JSON');
    await updateEndpoint(sql, ref, { id, changes: { format: 'topgg' }, nowMs });
    assert.is(await readBody(), null);
  });
};
