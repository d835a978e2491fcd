/**
 * The push client of this directory: its keys, which all nodes share, and whom push services may write to.
 *
 * The keys are made once and stay: browsers subscribe for one public key, so new ones would end every
 * subscription. Called by the composition root.
 */
import { createPushClient, type PushClient, type VapidKeys } from '../http/outbound/push.ts';
import { getOrCreateSetting } from '../storage/nodes/membership.ts';
import type { Sql } from '../storage/sql/client.ts';
import type { Config } from './config.ts';

/** The same pair for every node that asks; the first one makes it. */
const readVapidKeys = async (sql: Sql): Promise<VapidKeys> =>
  JSON.parse(await getOrCreateSetting(sql, 'vapid_keys', makeKeys));

const makeKeys = async (): Promise<string> => {
  const { default: webPush } = await import('web-push');
  return JSON.stringify(webPush.generateVAPIDKeys());
};

/** Where nothing better is known: push services want an address, whatever it is. */
const toContact = ({ pushContact, publicUrl }: Config): string => {
  if (pushContact !== '') return pushContact;
  return publicUrl.startsWith('https:') ? publicUrl : 'mailto:operator@rollcall.invalid';
};

export const openPush = async (sql: Sql, config: Config): Promise<PushClient> =>
  createPushClient({
    keys: await readVapidKeys(sql),
    contact: toContact(config),
    reach: config.pushAddresses,
  });
