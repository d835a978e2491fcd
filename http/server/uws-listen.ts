/**
 * Opens the port of a server and drains it: no new connections, then the requests in flight, then the end.
 */
import uws, { type us_listen_socket } from 'uWebSockets.js';
import type { ListenerPhase } from './exchange.ts';
import { findBindFault } from './listen-fault.ts';

/** What a server is as a listener. */
export interface Listening {
  readonly app: uws.TemplatedApp;
  /** Allows several processes to listen on one port; false binds it exclusively. */
  readonly shared: boolean;
  readonly phase: ListenerPhase;
  socket: us_listen_socket | null;
  inFlight: number;
  /** Called when the last request in flight is answered during a drain. */
  onEmpty: (() => void) | null;
}

const exclusivePort = 1;

type Listen = (
  host: string,
  port: number,
  options: number,
  done: (socket: us_listen_socket | false) => void,
) => void;

export const openPort = (state: Listening, host: string, port: number): Promise<number> =>
  new Promise((resolve, reject) => {
    // The package's types lack the four-argument form.
    const bind = state.app.listen.bind(state.app) as unknown as Listen;
    bind(host, port, state.shared ? 0 : exclusivePort, (socket) => {
      if (socket === false) return void findBindFault(host, port).then(reject, reject);
      state.socket = socket;
      resolve(uws.us_socket_local_port(socket as unknown as uws.us_socket));
    });
  });

const waitUntilEmpty = (state: Listening, deadlineMs: number): Promise<void> =>
  new Promise((resolve) => {
    if (state.inFlight === 0) return resolve();
    const timer = setTimeout(resolve, deadlineMs);
    state.onEmpty = () => {
      clearTimeout(timer);
      resolve();
    };
  });

/** Gives the kernel time to take the last responses before connections close, ms. */
const lastWriteMs = 20;

export const stopListening = async (state: Listening, deadlineMs: number): Promise<void> => {
  Object.assign(state.phase, { leaving: true, draining: true });
  if (state.socket !== null) uws.us_listen_socket_close(state.socket);
  state.socket = null;
  await waitUntilEmpty(state, deadlineMs);
  await new Promise((resolve) => setTimeout(resolve, lastWriteMs));
  state.app.close();
};
