/**
 * The webhooks of the catalogue: what handlers may do with endpoints and deliveries.
 *
 * Combines the functions of this folder and turns every failure into a `StorageError`. Senders use queue.ts.
 */
import type { Sql } from '../../sql/client.ts';
import { asStorage } from '../../sql/errors.ts';
import {
  clearDeliveries,
  type DeliveryRange,
  type DeliveryRow,
  enqueueReplay,
  listDeliveries,
  type ReplayRequest,
} from './deliveries.ts';
import {
  deleteEndpoint,
  describeEvent,
  type EndpointChanges,
  type EndpointRow,
  type EventPeople,
  findEndpoint,
  insertEndpoint,
  listEndpoints,
  type NewEndpoint,
  type NewSecret,
  replaceSecret,
  type SealedEndpoint,
  updateEndpoint,
  type WebhookTarget,
} from './endpoints.ts';

/** Webhook endpoints and their deliveries. Every edit is ledger when it resolves. */
export interface WebhookCatalogue {
  list(target: WebhookTarget): Promise<readonly EndpointRow[]>;
  find(target: WebhookTarget, endpointId: string): Promise<SealedEndpoint | null>;
  /** The listing's name and a user, for a test. */
  describe(incarnation: number, userId: string): Promise<EventPeople>;
  insert(
    target: WebhookTarget,
    request: { readonly endpoint: NewEndpoint; readonly max: number },
  ): Promise<'created' | 'limit_reached' | 'not_found'>;
  /** False when there is no such endpoint; so do the next two. */
  update(
    target: WebhookTarget,
    request: { readonly id: string; readonly changes: EndpointChanges; readonly nowMs: number },
  ): Promise<boolean>;
  remove(target: WebhookTarget, endpointId: string): Promise<boolean>;
  replaceSecret(
    target: WebhookTarget,
    request: { readonly endpointId: string; readonly secret: NewSecret },
  ): Promise<boolean>;
  deliveries(
    endpoint: { readonly id: string; readonly incarnation: number },
    range: DeliveryRange,
  ): Promise<readonly DeliveryRow[]>;
  /** Deletes the deliveries that are not waiting. */
  clear(endpointId: string): Promise<void>;
  /** `null` when it would be too many. */
  replay(request: ReplayRequest): Promise<number | null>;
}

export const createWebhooks = (sql: Sql): WebhookCatalogue => ({
  list: (target) => asStorage('webhooks.list', () => listEndpoints(sql, target)),
  find: (target, id) => asStorage('webhooks.find', () => findEndpoint(sql, target, id)),
  describe: (incarnation, userId) =>
    asStorage('webhooks.describe', () => describeEvent(sql, incarnation, userId)),
  insert: (target, request) => asStorage('webhooks.insert', () => insertEndpoint(sql, target, request)),
  update: (target, request) => asStorage('webhooks.update', () => updateEndpoint(sql, target, request)),
  remove: (target, id) => asStorage('webhooks.remove', () => deleteEndpoint(sql, target, id)),
  replaceSecret: (target, request) => asStorage('webhooks.secret', () => replaceSecret(sql, target, request)),
  deliveries: (endpoint, range) =>
    asStorage('webhooks.deliveries', () => listDeliveries(sql, endpoint, range)),
  clear: (id) => asStorage('webhooks.clear', () => clearDeliveries(sql, id)),
  replay: (request) => asStorage('webhooks.replay', () => enqueueReplay(sql, request)),
});
