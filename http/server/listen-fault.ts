/**
 * Explains to the operator why a port could not be bound. uWebSockets.js reports no reason, so the same bind
 * is repeated with Node's own server, which does.
 */
import { createServer } from 'node:net';

interface Address {
  readonly host: string;
  readonly port: number;
  /** The setting that changes the port. */
  readonly setting: string;
}

const describeListenFault = (code: string | undefined, { host, port, setting }: Address): string => {
  switch (code) {
    case 'EADDRINUSE':
      return (
        `Port ${port} on ${host} is already in use. ` +
        `Stop what listens there, or choose another ${setting}.`
      );
    case 'EACCES':
      return `Port ${port} on ${host} needs more rights than this process has. Set ${setting} above 1023.`;
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return (
        `${setting.replaceAll('PORT', 'HOST')} is ${host}, which is not an address of this machine. ` +
        'Use 127.0.0.1, 0.0.0.0 or one of its own.'
      );
    default:
      return `Cannot listen on ${host}:${port}${code === undefined ? '' : ` (${code})`}.`;
  }
};

/** Resolves to the reason why the port cannot be bound now, `null` when it can. */
export const findPortFault = (address: Address): Promise<Error | null> =>
  new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', (error: NodeJS.ErrnoException) =>
      resolve(new Error(describeListenFault(error.code, address))),
    );
    probe.listen({ host: address.host, port: address.port, exclusive: true }, () =>
      probe.close(() => resolve(null)),
    );
  });

/** Resolves to the error to report for a failed bind. */
export const findBindFault = async (host: string, port: number): Promise<Error> => {
  const address = { host, port, setting: 'PORT or ADMIN_PORT' };
  return (await findPortFault(address)) ?? new Error(describeListenFault(undefined, address));
};
