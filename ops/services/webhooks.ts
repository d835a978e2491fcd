/**
 * Webhooks of one node: the key that seals secrets, the client that sends, the job that sends what is due,
 * and what this node knows about endpoints.
 *
 * The node keeps in memory which listings have an enabled endpoint, so that votes on others cost nothing. It
 * reads that after its own edits, after hints of other nodes and, on shared stores, every ten seconds. An
 * outdated answer only delays: the flush decides in SQL what is to be sent.
 */
import type { CommitRules } from '../../engine/entity/items.ts';
import type { Clock } from '../../engine/ports.ts';
import { failingFrom } from '../../engine/rules/webhooks.ts';
import { toNote } from '../../engine/tools/notes.ts';
import type { WebhookAccess } from '../../http/app.ts';
import { createWebhookDispatcher, type WebhookDispatcher } from '../../http/outbound/webhooks/dispatcher.ts';
import { createWebhookSender, type WebhookSenderOptions } from '../../http/outbound/webhooks/send.ts';
import { createVoteTraces } from '../../http/outbound/webhooks/traces.ts';
import type { WebhookMeters } from '../../http/telemetry/counts.ts';
import { endAllLeases } from '../../storage/catalogue/webhooks/leases.ts';
import { createWebhookQueue } from '../../storage/catalogue/webhooks/queue.ts';
import { createSecretBox } from '../../storage/catalogue/webhooks/secrets.ts';
import {
  expireBacklogs,
  listWatched,
  pendingPerEndpointMax,
  readWebhookFigures,
} from '../../storage/catalogue/webhooks/upkeep.ts';
import { getOrCreateSecret } from '../../storage/nodes/membership.ts';
import type { Sql } from '../../storage/sql/client.ts';
import type { Config } from '../config/config.ts';
import { createRepeatedLog } from '../log/repeated-log.ts';

export interface WebhooksParts {
  readonly sql: Sql;
  /** Other nodes use the same stores. */
  readonly shared: boolean;
  readonly meters: WebhookMeters;
  readonly windows: CommitRules['windows'];
  readonly clock: Clock;
  /** Other options of the client that sends (tests). */
  readonly sending?: Partial<WebhookSenderOptions>;
  readonly log: (message: string, details: object) => void;
}

export type WebhookSettings = Pick<
  Config,
  'webhooks' | 'webhookAddresses' | 'webhookTimeoutSeconds' | 'webhookDisableDays' | 'secretsKey'
>;

/** Listings kept in memory; with more, each listing counts as one that has an endpoint. */
const watchedMax = 10_000;
/** Deliveries of the fleet that may wait. */
const pendingMax = 5_000_000;
const backlogNote = toNote(
  'webhook_backlog',
  'more than 5,000,000 webhook deliveries wait: none are written for webhooks that fail ' +
    '(rollcall ops webhooks list shows them; replay them later)',
);

interface Known {
  listings: ReadonlySet<string>;
  endpoints: number;
  pending: number;
}

const toKey = (kind: string, id: string): string => `${kind}/${id}`;

const readKey = async (sql: Sql, { secretsKey }: WebhookSettings): Promise<Buffer> =>
  Buffer.from(secretsKey === '' ? await getOrCreateSecret(sql, 'webhook_key') : secretsKey, 'hex');

/** While SQL is away, each webhook that is served fails. */
const createFailureLog = ({ log, clock }: WebhooksParts): ((error: Error) => void) => {
  const report = createRepeatedLog((details, message) => log(message, details), clock);
  return (error) => report('webhooks were not sent', { error: error.message });
};

/** Reads the key, creating it on first use. Rejects when SQL fails. */
export const openWebhooks = async (parts: WebhooksParts, config: WebhookSettings) => {
  const { sql, log } = parts;
  const isOff = config.webhooks === 'off';
  const known: Known = { listings: new Set(), endpoints: 0, pending: 0 };
  const secrets = createSecretBox(await readKey(sql, config));
  const traces = createVoteTraces();
  const sender = createWebhookSender({
    addresses: config.webhookAddresses,
    timeoutMs: config.webhookTimeoutSeconds * 1_000,
    ...parts.sending,
  });
  const onFailure = createFailureLog(parts);
  const refresh = (): Promise<void> => readKnown(parts, known);
  await refresh();
  if (!parts.shared) await endAllLeases(sql);
  const dispatcher: WebhookDispatcher = createWebhookDispatcher({
    ...parts,
    queue: createWebhookQueue(sql),
    sender,
    secrets,
    traces,
    disableDays: config.webhookDisableDays,
    onDisabled: ({ id, target, reason }) => {
      log('a webhook was disabled', { webhook: id, target: toKey(target.kind, target.id), reason });
      refresh().catch(onFailure);
      dispatcher.wake();
    },
    onFailure,
  });
  return {
    access: {
      sender,
      secrets,
      recordTrace: traces.record,
      isWatched: (kind, id) => !isOff && isWatched(known, kind, id),
      onEdited: () => void refresh().then(dispatcher.wake, onFailure),
      onQueued: dispatcher.wake,
    } satisfies WebhookAccess,
    /** Whether too many deliveries wait to write more for endpoints that fail. */
    isBacklogFull: () => known.pending > pendingMax,
    listNotes: () => (known.pending > pendingMax ? [backlogNote] : []),
    /** Reads the endpoints again after an edit at any node. Rejects when SQL fails. */
    refresh,
    /** To be called every few seconds: reads the endpoints if they may have changed, and bounds backlogs. */
    keepUp: async () => {
      if (isOff || (!parts.shared && known.endpoints === 0)) return;
      await refresh();
      if (known.pending > pendingPerEndpointMax) await expireBacklogs(sql);
    },
    /** Starts to send what is due, if there is any endpoint. Rejects when SQL fails. */
    look: () => (isOff || known.endpoints === 0 ? Promise.resolve() : dispatcher.look()),
    /** To be called after a flush of this node has written deliveries. */
    wake: dispatcher.wake,
    close: async (waitMs: number) => {
      await dispatcher.close(waitMs);
      sender.close();
    },
  };
};
export type Webhooks = Awaited<ReturnType<typeof openWebhooks>>;

const isWatched = ({ listings }: Known, kind: string, id: string): boolean =>
  listings.size > 0 && (listings.size > watchedMax || listings.has(toKey(kind, id)));

const readKnown = async ({ sql, meters, clock }: WebhooksParts, known: Known): Promise<void> => {
  const { oldestDueMs, ...levels } = await readWebhookFigures(sql, failingFrom);
  known.endpoints = levels.healthy + levels.failing + levels.disabled;
  known.pending = levels.pending;
  const rows = levels.healthy + levels.failing === 0 ? [] : await listWatched(sql, watchedMax + 1);
  known.listings = new Set(rows.map(({ kind, id }) => toKey(kind, id)));
  const lagMs = oldestDueMs === 0 ? 0 : Math.max(0, clock.nowMs() - oldestDueMs);
  meters.recordLevels({ ...levels, lagMs });
};
