/**
 * The address under which a listener of a node is reached from the same machine, by what it listens on.
 *
 * Called by the composition root and by the operator's commands.
 */

/** A listener on all addresses is reached on the loopback one of its kind. */
const reachable: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' };

export const formatAddress = (listensOn: string, port: number): string => {
  const host = reachable[listensOn] ?? listensOn;
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
};
