/**
 * The webhooks of the catalogue: what handlers may do with endpoints and deliveries. Senders use queue.ts.
 */
import type { Sql } from '../../sql/client.ts';
import { bindStorage } from '../../sql/errors.ts';
import { clearDeliveries, enqueueReplay, listDeliveries } from './deliveries.ts';
import { endpointFunctions } from './endpoints.ts';

/** Webhook endpoints and their deliveries. Every edit is ledger when it resolves. */
export const createWebhooks = (sql: Sql) =>
  bindStorage('webhooks', sql, {
    ...endpointFunctions,
    deliveries: listDeliveries,
    clear: clearDeliveries,
    replay: enqueueReplay,
  });
