/**
 * Creates the push client: reads the VAPID keys that all nodes share, and the contact for push services.
 *
 * The keys are created once and never change: browsers subscribe to one public key, so new keys would end
 * every subscription.
 */
import { createPushClient, type PushClient, type VapidKeys } from '../../http/outbound/push.ts';
import { getOrCreateSetting } from '../../storage/nodes/membership.ts';
import type { Sql } from '../../storage/sql/client.ts';
import type { Config } from '../config/config.ts';
import { toPushContact } from '../config/home-defaults.ts';

/** Every node reads the same pair; the first node creates it. */
const readVapidKeys = async (sql: Sql): Promise<VapidKeys> =>
  JSON.parse(await getOrCreateSetting(sql, 'vapid_keys', createKeys));

const createKeys = async (): Promise<string> => {
  const { default: webPush } = await import('web-push');
  return JSON.stringify(webPush.generateVAPIDKeys());
};

/** Creates the keys in SQL on first use. Rejects when SQL fails. */
export const openPush = async (sql: Sql, config: Config): Promise<PushClient> =>
  createPushClient({
    keys: await readVapidKeys(sql),
    contact: toPushContact(config),
    reach: config.pushAddresses,
  });
