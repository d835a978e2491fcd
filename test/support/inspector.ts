/**
 * Evaluates an expression inside a running node, or collects its garbage, through its inspector, so that a
 * test can cause in a real process what no request can, without a switch in the product.
 *
 * The node must be started with `inspected` in its environment.
 */
import { once } from 'node:events';
import type { NodeProcess } from './node-process.ts';

/** Settings that let a test evaluate in the node; `more` are further options of Node. */
export const inspected = (...more: readonly string[]): Readonly<Record<string, string>> => ({
  NODE_OPTIONS: ['--inspect=127.0.0.1:0', ...more].join(' '),
});

const connect = async (node: NodeProcess): Promise<WebSocket> => {
  const address = /Debugger listening on (ws:\S+)/.exec(node.output())?.[1];
  if (address === undefined) throw new Error(`the node has no inspector:\n${node.output()}`);
  const socket = new WebSocket(address);
  await new Promise((resolve, reject) => {
    socket.onopen = resolve;
    socket.onerror = () => reject(new Error(`no connection to ${address}`));
  });
  // A process that ends closes the connection; one that shuts down would wait for ours.
  socket.onerror = () => {};
  return socket;
};

/** Sends the expression and does not wait for its value: it may block the process, or end it. */
export const evaluate = async (node: NodeProcess, expression: string): Promise<void> => {
  const socket = await connect(node);
  socket.onmessage = () => socket.close();
  socket.send(JSON.stringify({ id: 1, method: 'Runtime.evaluate', params: { expression } }));
};

/** Resolves after a full collection of the node's garbage. */
export const collectGarbage = async (node: NodeProcess): Promise<void> => {
  const socket = await connect(node);
  const answered = once(socket, 'message');
  socket.send(JSON.stringify({ id: 1, method: 'HeapProfiler.collectGarbage' }));
  await answered;
  socket.close();
};

/** Blocks the event loop of the process. */
export const blockFor = (milliseconds: number): string =>
  `Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ${milliseconds})`;

/** Fills the memory of the process, one chunk per iteration of its event loop. */
export const eatMemory = `globalThis.eaten = [];
  setInterval(() => { for (let i = 0; i < 20; i++) eaten.push(new Array(50_000).fill(i + 0.5)); }, 1)`;
