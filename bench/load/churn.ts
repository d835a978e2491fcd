/**
 * Generates load with a new connection for every request, which autocannon does not report. Closed loop: a
 * connection opens when the one before it got its answer, as many at a time as the order says.
 */
import { type ClientRequest, request as send } from 'node:http';
import { performance } from 'node:perf_hooks';
import type { Drive } from './drive.ts';

export const driveReconnecting: Drive = (order, lists, answered) => {
  const open = new Set<ClientRequest>();
  let stopped = false;
  let errors = 0;
  const sendNext = (requests: (typeof lists)[number], turn: number): void => {
    const next = requests[turn % requests.length];
    if (stopped || next === undefined) return;
    const begunMs = performance.now();
    const request = send(`${order.url}${next.path}`, {
      agent: false,
      method: next.method,
      headers: { ...next.headers, Connection: 'close' },
    });
    open.add(request);
    let bytes = 0;
    request.on('response', (response) => {
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
      });
      response.on('end', () => answered(response.statusCode ?? 0, bytes, performance.now() - begunMs));
    });
    request.on('error', () => {
      if (!stopped) errors += 1;
    });
    request.on('close', () => {
      open.delete(request);
      // A pause, so that a server that refuses connections is not called in a tight loop.
      setImmediate(sendNext, requests, turn + 1);
    });
    request.end(next.body);
  };
  for (const requests of lists) sendNext(requests, 0);
  return {
    stop: async () => {
      stopped = true;
      for (const request of open) request.destroy();
      return errors;
    },
  };
};
