/**
 * Opens a connection to whichever of a host's addresses answers first (RFC 8305).
 *
 * The next address is tried after 250 ms, or as soon as an attempt has failed, while those before go on: an
 * address that never answers costs a quarter of a second, and one that is far away has as long as its
 * request. Node's own selection would end each attempt but the last after 250 ms.
 */
import { createRequire } from 'node:module';
import { connect, isIPv6, type Socket } from 'node:net';
import type { ConnectionOptions } from 'node:tls';
import type { buildConnector } from 'undici';

/**
 * Loads undici with the first request: a node that calls no other service never needs it. Throws without free
 * file descriptors. An `import` that failed would fail for ever.
 */
export const loadUndici = (): typeof import('undici') => createRequire(import.meta.url)('undici');

const staggerMs = 250;
/** Addresses of a host that are tried; a name may have hundreds. */
const addressesMax = 8;
const keepAliveInitialDelay = 60_000;

export interface ConnectorOptions {
  /** Resolves to the addresses of a host. */
  readonly resolve: (hostname: string) => Promise<readonly string[]>;
  /** For opening a connection, and again for its handshake. A request's own limit may end it earlier. */
  readonly timeLimitMs: number;
  readonly tls?: Pick<ConnectionOptions, 'secureContext' | 'checkServerIdentity'>;
}

/** Creates the function by which a client of undici opens its sockets. */
export const createConnector = (options: ConnectorOptions): buildConnector.connector => {
  const { resolve, timeLimitMs, tls } = options;
  const secure = loadUndici().buildConnector({ ...tls, allowH2: false, timeout: timeLimitMs });
  return (target, callback) => {
    const isSecure = target.protocol === 'https:';
    const port = Number(target.port) || (isSecure ? 443 : 80);
    resolve(target.hostname)
      .then((addresses) => connectFirst(addresses, port, timeLimitMs))
      .then(
        (httpSocket) => (isSecure ? secure({ ...target, httpSocket }, callback) : callback(null, httpSocket)),
        (error: Error) => callback(error, null),
      );
  };
};

/** Resolves to the first socket that connects; rejects with the first failure when none does in time. */
export const connectFirst = (
  addresses: readonly string[],
  port: number,
  timeLimitMs: number,
): Promise<Socket> =>
  new Promise((resolve, reject) => {
    const waiting = alternate(addresses).slice(0, addressesMax);
    const open = new Set<Socket>();
    let failure: Error | undefined;
    const end = (): void => {
      clearInterval(timer);
      clearTimeout(limit);
      waiting.length = 0;
      for (const socket of open) socket.destroy();
    };
    const fail = (error: Error): void => {
      failure ??= error;
      if (waiting.length > 0) tryNext();
      else if (open.size === 0) {
        end();
        reject(failure);
      }
    };
    const tryNext = (): void => {
      const host = waiting.shift();
      if (host === undefined) return;
      const settings = { host, port, autoSelectFamily: false, noDelay: true, keepAlive: true };
      const socket = connect({ ...settings, keepAliveInitialDelay });
      open.add(socket);
      socket.once('connect', () => {
        open.delete(socket);
        end();
        resolve(socket);
      });
      // It stays for the socket's life: its next owner begins to listen a moment later.
      socket.on('error', (error) => {
        if (open.delete(socket)) fail(error);
      });
    };
    const timer = setInterval(tryNext, staggerMs);
    const limit = setTimeout(() => {
      end();
      reject(Object.assign(new Error('no address answered in time'), { code: 'ETIMEDOUT' }));
    }, timeLimitMs);
    tryNext();
  });

/** One address of each family in turn, beginning with that of the first. */
const alternate = (addresses: readonly string[]): string[] => {
  const firstIsSix = isIPv6(addresses[0] ?? '');
  const isOther = (address: string): boolean => isIPv6(address) !== firstIsSix;
  const others = addresses.filter(isOther);
  const same = addresses.filter((address) => !isOther(address));
  const length = Math.max(same.length, others.length);
  return Array.from({ length }, (_, index) => [same[index], others[index]])
    .flat()
    .filter((address) => address !== undefined);
};
