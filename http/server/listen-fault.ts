/**
 * Why a port could not be bound, in words a person can act on. uWebSockets.js only says that it failed, so
 * the same bind is tried once more by Node, which names the reason. Called by server.ts, and by
 * ops/rollcall.ts before the work of a start.
 */
import { createServer } from 'node:net';

const describeListenFault = (code: string | undefined, host: string, port: number): string => {
  switch (code) {
    case 'EADDRINUSE':
      return `Port ${port} on ${host} is already in use. Stop what listens there, or choose another port.`;
    case 'EACCES':
      return `Port ${port} on ${host} needs more rights than this process has. Choose one above 1023.`;
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `${host} is not an address of this machine. Use 127.0.0.1, 0.0.0.0 or one of its own.`;
    default:
      return `Cannot listen on ${host}:${port}${code === undefined ? '' : ` (${code})`}.`;
  }
};

/** Why the port cannot be bound now, `null` when it can. */
export const findPortFault = (host: string, port: number): Promise<Error | null> =>
  new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', (error: NodeJS.ErrnoException) =>
      resolve(new Error(describeListenFault(error.code, host, port))),
    );
    probe.listen({ host, port, exclusive: true }, () => probe.close(() => resolve(null)));
  });

/** Resolves to the error to report of a bind that failed. */
export const findBindFault = async (host: string, port: number): Promise<Error> =>
  (await findPortFault(host, port)) ?? new Error(describeListenFault(undefined, host, port));
