/**
 * Explains to the operator why a port could not be bound. uWebSockets.js reports no reason, so the same bind
 * is repeated with Node's own server, which does. Called by uws-server.ts, and by ops/rollcall.ts before
 * anything else is started.
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

/** Resolves to the reason why the port cannot be bound now, `null` when it can. */
export const findPortFault = (host: string, port: number): Promise<Error | null> =>
  new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', (error: NodeJS.ErrnoException) =>
      resolve(new Error(describeListenFault(error.code, host, port))),
    );
    probe.listen({ host, port, exclusive: true }, () => probe.close(() => resolve(null)));
  });

/** Resolves to the error to report for a failed bind. */
export const findBindFault = async (host: string, port: number): Promise<Error> =>
  (await findPortFault(host, port)) ?? new Error(describeListenFault(undefined, host, port));
