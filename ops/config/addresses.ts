/**
 * The addresses of a node: URLs of its listeners that work from the same machine, whether its ports are free,
 * and the addresses of its stores as text without secrets.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { findPortFault } from '../../http/server/listen-fault.ts';
import type { Config } from './config.ts';

/** A listener on all addresses is reachable at the loopback address of the same family. */
const loopback: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' };

/** `0.0.0.0`, 8080 → `http://127.0.0.1:8080`. IPv6 addresses get brackets. */
export const formatAddress = (listenHost: string, port: number): string => {
  const host = loopback[listenHost] ?? listenHost;
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
};

export interface ServerAddresses {
  readonly url: string;
  readonly adminUrl: string;
}

/** The addresses of a node that listens on these ports. */
export const toAddresses = (config: Config, port: number, adminPort: number): ServerAddresses => ({
  url: config.publicUrl || formatAddress(config.host, port),
  adminUrl: formatAddress(config.adminHost, adminPort),
});

/** Whether only programs of this machine reach the public listener, and nothing is known of a proxy. */
export const isLocalOnly = ({ publicUrl, host }: Pick<Config, 'publicUrl' | 'host'>): boolean =>
  publicUrl === '' && ['127.0.0.1', '::1', 'localhost'].includes(host);

/** A node that has unlocked its folder listens for its operator for a moment longer. */
const endingMsMax = 500;

const findFaults = async ({ workers, host, port, adminHost, adminPort }: Config): Promise<string> => {
  const fault = workers > 1 ? null : await findPortFault({ host, port, setting: 'PORT' });
  const adminFault = await findPortFault({ host: adminHost, port: adminPort, setting: 'ADMIN_PORT' });
  return [fault, adminFault].flatMap((one) => one?.message ?? []).join('\n');
};

/** Rejects if ports are in use, before a store is made. Omits the public port if workers share it. */
export const assertPortsFree = async (config: Config): Promise<void> => {
  if ((await findFaults(config)) === '') return;
  await pause(endingMsMax);
  const faults = await findFaults(config);
  if (faults !== '') throw new Error(faults);
};

/** A URL without user, password and options, which may be secret. */
const hideSecrets = (address: string): string => {
  const [scheme = '', rest = ''] = address.split('://');
  const optionsAt = rest.search(/\?\w+=/);
  const place = optionsAt === -1 ? rest : rest.slice(0, optionsAt);
  const host = place.slice(place.lastIndexOf('@') + 1);
  return `${scheme}://${host.endsWith('/') ? host.slice(0, -1) : host}`;
};

/** Where the data is, as pairs of a name and a place for the start message: never with a password. */
export const describeStores = (
  { redisUrl, databaseUrl, dataDir }: Pick<Config, 'redisUrl' | 'databaseUrl' | 'dataDir'>,
  otherNodes: readonly string[],
): readonly (readonly [string, string])[] =>
  redisUrl.length === 0
    ? [['Data', dataDir], ...(databaseUrl === '' ? [] : [['Postgres', hideSecrets(databaseUrl)] as const])]
    : [
        ['Redis', redisUrl.map(hideSecrets).join(', ')],
        ['Postgres', hideSecrets(databaseUrl)],
        ['Other nodes', otherNodes.join(', ') || 'none'],
      ];
