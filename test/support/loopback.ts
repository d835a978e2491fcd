/**
 * Starts and stops the servers of tests on loopback.
 */
import type { AddressInfo, Server } from 'node:net';

/** Listens, by default on a free port of 127.0.0.1. Resolves to the port. */
export const listen = (server: Server, address = '127.0.0.1', port = 0): Promise<number> =>
  new Promise((resolve) => {
    server.listen(port, address, () => resolve((server.address() as AddressInfo).port));
  });

/** Ends the connections of a server of HTTP, too. */
export const close = (server: Server & { closeAllConnections?(): void }): Promise<void> =>
  new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections?.();
  });
