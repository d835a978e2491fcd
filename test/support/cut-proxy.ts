/**
 * A TCP proxy on loopback whose connections a test can cut or silence: what a broken cable looks like to a
 * client.
 *
 * When silenced, it accepts data and forwards nothing, in both directions, without an error; new connections
 * are accepted and stay silent too.
 */
import { connect, createServer, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { close, listen } from './loopback.ts';

export interface CutProxy {
  readonly port: number;
  /** Ends every connection with a reset. */
  cut(): void;
  silence(): void;
  /** Silences the connections of now; new ones work. */
  forget(): void;
  /** Delays every chunk of data by so long, in order; 0 ends it. */
  delay(milliseconds: number): void;
  /** Forwards so many bytes of the next answers, then resets every connection; 0 ends it. */
  tear(bytes: number): void;
  /** Forwards answers byte by byte. */
  drip(on: boolean): void;
  /** Forwards again; silenced connections are reset, as after a partition. */
  restore(): void;
  /** Connects clients to another port from now on, and ends the connections of before. */
  redirect(port: number): void;
  /** As `redirect`; connections of before stay, as after a change of a name's address. */
  rename(port: number): void;
  close(): Promise<void>;
}

interface ProxyState {
  targetPort: number;
  silent: boolean;
  /** The connections of now belong to it, until the next one. */
  age: { forgotten: boolean };
  delayMs: number;
  tornAfterBytes: number;
  drips: boolean;
}

const createState = (targetPort: number): ProxyState => ({
  targetPort,
  silent: false,
  age: { forgotten: false },
  delayMs: 0,
  tornAfterBytes: 0,
  drips: false,
});

const answer = (state: ProxyState, data: Buffer, client: Socket): void => {
  if (state.tornAfterBytes > 0) {
    client.write(data.subarray(0, state.tornAfterBytes), () => client.resetAndDestroy());
  } else if (state.drips) {
    for (const byte of data) client.write(Buffer.of(byte));
  } else client.write(data);
};

/** Forwards data from one socket to the other, each chunk delayed as the proxy says, in order. */
const passerOf = (state: ProxyState, other: Socket, answers: boolean): ((data: Buffer) => void) => {
  const { age } = state;
  const pass = (data: Buffer): void => {
    if (state.silent || age.forgotten || other.destroyed) return;
    if (answers) answer(state, data, other);
    else other.write(data);
  };
  let held: Promise<unknown> | null = null;
  return (data) => {
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
  };
};

/** A proxy before a port of 127.0.0.1. */
export const openCutProxy = async (targetPort: number): Promise<CutProxy> => {
  const sockets = new Set<Socket>();
  const state = createState(targetPort);
  const keep = (socket: Socket, other: Socket, answers: boolean): void => {
    sockets.add(socket);
    socket.setNoDelay(true);
    socket.on('error', () => other.destroy());
    socket.on('close', () => {
      sockets.delete(socket);
      other.destroy();
    });
    socket.on('data', passerOf(state, other, answers));
  };
  const server = createServer((client) => {
    const upstream = connect(state.targetPort, '127.0.0.1');
    keep(client, upstream, false);
    keep(upstream, client, true);
  });
  const port = await listen(server);
  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port,
    cut,
    silence: () => {
      state.silent = true;
    },
    forget: () => {
      state.age.forgotten = true;
      state.age = { forgotten: false };
    },
    delay: (milliseconds) => {
      state.delayMs = milliseconds;
    },
    tear: (bytes) => {
      state.tornAfterBytes = bytes;
    },
    drip: (on) => {
      state.drips = on;
    },
    restore: () => {
      state.silent = false;
      cut();
    },
    rename: (other) => {
      state.targetPort = other;
    },
    redirect: (other) => {
      state.targetPort = other;
      cut();
    },
    close: async () => {
      cut();
      await close(server);
    },
  };
};
