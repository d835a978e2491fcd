/**
 * A pooler that gives a backend to the next client after the first answer, whatever else the client has sent:
 * what Supavisor in transaction mode did to pipelined statements in 2026.
 *
 * It speaks just enough of Postgres' protocol: it answers each client's start with the backend's own
 * greeting, then passes bytes between a client and the backend that it holds, until the backend reports that
 * it is ready and in no transaction.
 */
import { connect, createServer, type Socket } from 'node:net';
import { close, listen } from './loopback.ts';

export interface EarlyPooler {
  address(database: string): string;
  close(): Promise<void>;
}

interface Backend {
  readonly socket: Socket;
  client: Socket | null;
  /** Bytes of the message that is not complete yet. */
  rest: Buffer;
}

interface PoolerState {
  readonly port: number;
  readonly backendsMax: number;
  /** Newest first, as pgbouncer hands them out. */
  readonly idle: Backend[];
  readonly all: Backend[];
  readonly waiting: (() => void)[];
  /** What a backend said at its start, for the next clients. */
  greeting: Buffer;
}

const readyForQuery = 0x5a;
const inNoTransaction = 0x49;

/** Starts it before a server on 127.0.0.1. */
export const startEarlyPooler = async (port: number, backendsMax: number): Promise<EarlyPooler> => {
  const state: PoolerState = { port, backendsMax, idle: [], all: [], waiting: [], greeting: Buffer.alloc(0) };
  const clients = new Set<Socket>();
  const server = createServer((client) => {
    clients.add(client);
    client.on('error', () => client.destroy());
    client.once('data', (start) => void serve(state, client, start));
  });
  const own = await listen(server);
  return {
    address: (database) => `postgres://rollcall@127.0.0.1:${own}/${database}`,
    close: async () => {
      for (const socket of [...clients, ...state.all.map(({ socket }) => socket)]) socket.destroy();
      await close(server);
    },
  };
};

const serve = async (state: PoolerState, client: Socket, start: Buffer): Promise<void> => {
  if (state.all.length === 0) release(state, await openBackend(state, start));
  let held: Backend | null = null;
  let sent: Promise<unknown> = Promise.resolve();
  client.on('data', (data) => {
    sent = sent.then(async () => {
      if (held?.client !== client) held = await take(state, client, start);
      held.socket.write(data);
    });
  });
  client.write(state.greeting);
};

const take = async (state: PoolerState, client: Socket, start: Buffer): Promise<Backend> => {
  let backend = state.idle.shift();
  if (backend === undefined && state.all.length < state.backendsMax)
    backend = await openBackend(state, start);
  if (backend === undefined) {
    await new Promise<void>((resolve) => state.waiting.push(resolve));
    return take(state, client, start);
  }
  backend.client = client;
  return backend;
};

const release = (state: PoolerState, backend: Backend): void => {
  backend.client = null;
  state.idle.unshift(backend);
  state.waiting.shift()?.();
};

const openBackend = (state: PoolerState, start: Buffer): Promise<Backend> =>
  new Promise((resolve) => {
    const socket = connect(state.port, '127.0.0.1');
    const backend: Backend = { socket, client: null, rest: Buffer.alloc(0) };
    state.all.push(backend);
    const greeting: Buffer[] = [];
    socket.on('error', () => socket.destroy());
    socket.once('connect', () => socket.write(start));
    let isStarted = false;
    socket.on('data', (data) =>
      splitMessages(backend, data, (message) => {
        if (!isStarted) greeting.push(message);
        else backend.client?.write(message);
        if (message[0] !== readyForQuery) return;
        if (isStarted && message[5] === inNoTransaction) release(state, backend);
        if (isStarted) return;
        isStarted = true;
        state.greeting = Buffer.concat(greeting);
        resolve(backend);
      }),
    );
  });

const splitMessages = (backend: Backend, data: Buffer, onMessage: (message: Buffer) => void): void => {
  let bytes = Buffer.concat([backend.rest, data]);
  while (bytes.length >= 5 && bytes.length > bytes.readUInt32BE(1)) {
    const length = bytes.readUInt32BE(1) + 1;
    onMessage(bytes.subarray(0, length));
    bytes = bytes.subarray(length);
  }
  backend.rest = bytes;
};
