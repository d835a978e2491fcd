/**
 * A TCP proxy on loopback whose connections a test can cut or silence: what a broken cable looks like to a
 * client.
 *
 * Silenced, it takes what is sent and passes nothing on, in both directions, and says nothing of it; new
 * connections are accepted and stay silent too. Called by the tests of connections.
 */
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';

export interface CutProxy {
  readonly port: number;
  /** Ends every connection with a reset. */
  cut(): void;
  silence(): void;
  /** Holds every piece of data back for so long, in order; 0 ends it. */
  delay(milliseconds: number): void;
  /** Passes on again; what was silenced is reset, as after a partition. */
  restore(): void;
  close(): Promise<void>;
}

/** A proxy before a port of 127.0.0.1. */
export const openCutProxy = async (targetPort: number): Promise<CutProxy> => {
  const sockets = new Set<Socket>();
  const state = { silent: false, delayMs: 0 };
  const keep = (socket: Socket, other: Socket): void => {
    sockets.add(socket);
    socket.setNoDelay(true);
    socket.on('error', () => other.destroy());
    socket.on('close', () => {
      sockets.delete(socket);
      other.destroy();
    });
    let held: Promise<unknown> | null = null;
    const pass = (data: Buffer): void => {
      if (!state.silent && !other.destroyed) other.write(data);
    };
    socket.on('data', (data) => {
      if (held === null && state.delayMs === 0) {
        pass(data);
        return;
      }
      const last = Promise.resolve(held)
        .then(() => pause(state.delayMs))
        .then(() => {
          pass(data);
          if (held === last) held = null;
        });
      held = last;
    });
  };
  const server = createServer((client) => {
    const upstream = connect(targetPort, '127.0.0.1');
    keep(client, upstream);
    keep(upstream, client);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: (server.address() as { port: number }).port,
    cut,
    silence: () => {
      state.silent = true;
    },
    delay: (milliseconds) => {
      state.delayMs = milliseconds;
    },
    restore: () => {
      state.silent = false;
      cut();
    },
    close: async () => {
      cut();
      server.close();
      await once(server, 'close');
    },
  };
};
