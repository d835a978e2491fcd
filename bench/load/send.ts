/**
 * Sends requests with Node's own client: one, or many at a fixed rate, whether or not answers come.
 */
import { type Agent, request as open } from 'node:http';
import type { LoadRequest } from '../scenarios/scenario.ts';

export interface Received {
  /** 0: no answer. */
  readonly status: number;
  readonly bytes: number;
}

/** `false`: on a connection of its own. */
export const sendOne = (
  agent: Agent | false,
  url: string,
  { method, path, headers, body = '' }: LoadRequest,
): Promise<Received> =>
  new Promise((resolve) => {
    const sized = method === 'GET' ? headers : { ...headers, 'Content-Length': Buffer.byteLength(body) };
    const request = open(`${url}${path}`, { agent, method, headers: sized });
    let bytes = 0;
    request.on('response', (response) => {
      const { statusCode = 0 } = response;
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
      });
      response.on('close', () => resolve({ status: statusCode, bytes }));
    });
    request.on('error', () => resolve({ status: 0, bytes }));
    request.end(body);
  });

/** Node's timers are up to a millisecond late. */
const timerLateMs = 1.5;
/** Above this rate, waiting for the exact time would take too much of a core. */
const exactRateMax = 300;

/**
 * Calls `send` for each of `count` requests when it is due: below some hundred per second within
 * microseconds, above within a millisecond. `ended` resolves when the last one was sent, or after `stop`.
 */
export const sendOnTime = (
  rate: number,
  count: number,
  send: (index: number, dueMs: number) => void,
): { readonly ended: Promise<void>; stop(): void } => {
  let isStopped = false;
  const ended = new Promise<void>((resolve) => {
    const begunMs = performance.now();
    let next = 0;
    const dueMs = (): number => begunMs + (next / rate) * 1_000;
    const look = (): void => {
      for (; !isStopped && next < count && dueMs() <= performance.now(); next++) send(next, dueMs());
      const waitMs = dueMs() - performance.now();
      if (isStopped || next === count) resolve();
      else if (rate > exactRateMax) setTimeout(look, 1);
      else if (waitMs > timerLateMs) setTimeout(look, waitMs - timerLateMs);
      else setImmediate(look);
    };
    look();
  });
  return {
    ended,
    stop: () => {
      isStopped = true;
    },
  };
};
