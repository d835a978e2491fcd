/**
 * Turns the address and port a node listens on into a URL that works from the same machine.
 *
 * Used by the composition root and by the operator's commands.
 */

/** A listener on all addresses is reachable at the loopback address of the same family. */
const loopback: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' };

/** `0.0.0.0`, 8080 → `http://127.0.0.1:8080`. IPv6 addresses get brackets. */
export const formatAddress = (listenHost: string, port: number): string => {
  const host = loopback[listenHost] ?? listenHost;
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
};
