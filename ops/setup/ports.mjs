/**
 * Finds ports that other programs use, before anything is installed for a server that could not listen.
 *
 * The names and defaults are those of ops/config/settings.ts, and the message is that of
 * http/server/listen-fault.ts, which need Node 22; a test compares them.
 */
import { createServer } from 'node:net';

const listeners = [
  { port: 'PORT', host: 'HOST', defaultPort: 8080 },
  { port: 'ADMIN_PORT', host: 'ADMIN_HOST', defaultPort: 9090 },
];

/** Resolves to a message for the user when ports are in use; `null` otherwise, also for wrong settings. */
export const findPortProblem = async (environment) => {
  const problems = [];
  for (const { port, host, defaultPort } of listeners) {
    const address = {
      port: Number(environment[port] || defaultPort),
      host: environment[host] || '127.0.0.1',
    };
    if (Number.isInteger(address.port) && address.port <= 65_535 && (await isTaken(address))) {
      problems.push(
        `Port ${address.port} on ${address.host} is already in use. Stop what listens there, ` +
          `or choose another ${port}.`,
      );
    }
  }
  return problems.length === 0 ? null : problems.join('\n');
};

const isTaken = (address) =>
  new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', (error) => resolve(error.code === 'EADDRINUSE'));
    probe.listen({ ...address, exclusive: true }, () => probe.close(() => resolve(false)));
  });
