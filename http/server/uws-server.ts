/**
 * The HTTP server on uWebSockets.js, which only the files uws-*.ts use: turns sockets into exchanges.
 *
 * The parser drops a connection that pipelines a request behind one that has to wait; pipeline-limit.ts uses
 * this against excessive pipelining. open-body.ts bounds the memory of slow bodies.
 */
import './header-limit.ts'; // Must come before the import of uWebSockets.js, which reads the limit.

import uws, { type HttpResponse } from 'uWebSockets.js';
import { LargeBodies } from './large-bodies.ts';
import { PipelineLimit } from './pipeline-limit.ts';
import { readAddress, receive, type ServerOptions, type ServerState, UwsExchange } from './uws-exchange.ts';
import { openPort, stopListening } from './uws-listen.ts';
import { createSocketBehavior } from './uws-push.ts';
import { RequestIds } from './wire.ts';

const listenForConnections = ({ app }: ServerState, onConnection: (peerAddress: string) => void): void => {
  const onChange = (response: HttpResponse, change: unknown): void => {
    // -1 when it closes.
    if (change === 1) onConnection(readAddress(response));
  };
  app.filter(onChange);
};

/** Bytes behind the head would be read as frames, so an upgrade has no body. */
const listenForUpgrades = (state: ServerState, path: string, protocol: string): void => {
  const behavior = createSocketBehavior(protocol, (offer, response, request) => {
    const exchange = new UwsExchange(state, response, request);
    const { headers } = exchange;
    if (headers.chunked || headers.contentLength > 0) headers.framingFault = 'An upgrade has no body.';
    exchange.offer = offer;
    receive(state, exchange);
  });
  state.app.ws(path, behavior);
};

/**
 * Creates a server that passes every request to `handle`, which must answer each exchange once, now or
 * later. Nothing listens yet.
 */
export const createHttpServer = (options: ServerOptions) => {
  // Removes the header that names the server software; the package's types lack this call.
  (uws as unknown as { _cfg: (key: string) => void })._cfg('999999990007');
  const state: ServerState = {
    ...options,
    app: uws.App(),
    pipelineLimit: new PipelineLimit(),
    openBodies: { bytes: 0 },
    largeBodies: new LargeBodies(),
    socket: null,
    inFlight: 0,
    requestIds: new RequestIds(options.requestIdPrefix),
    onEmpty: null,
  };
  if (options.onConnection !== undefined) listenForConnections(state, options.onConnection);
  if (options.sockets !== undefined) listenForUpgrades(state, options.sockets.path, options.sockets.protocol);
  state.app.any('/*', (response, request) => receive(state, new UwsExchange(state, response, request)));
  return {
    startLeaving: () => {
      state.phase.leaving = true;
    },
    /** Resolves to the port. Rejects with a message for the operator (port taken, no such address). */
    listen: (host: string, port: number) => openPort(state, host, port),
    /**
     * Stops listening, waits for requests in flight, closes every connection. Resolves after `deadlineMs` at
     * the latest.
     */
    drain: (deadlineMs: number) => stopListening(state, deadlineMs),
    /** Requests not answered yet. */
    get inFlight() {
      return state.inFlight;
    },
  };
};
export type HttpServer = ReturnType<typeof createHttpServer>;
