/**
 * Measures the memory of a silent open connection: how a server's memory grows over many of them.
 *
 * Opens connections in waves; each sends one request, so that the server has handled it, and stays open.
 * Reads resident memory from /proc, where there is one.
 */
import { connect, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { readResidentBytes } from '../machine/cpu.ts';
import type { ServerProcess } from '../servers/process.ts';

const waveSize = 500;
const quietMs = 300;
/** Warm-up connections, which allocate the buffers and compile the code that all others share. */
const firstConnections = 200;

const openOne = (url: URL, path: string): Promise<Socket> =>
  new Promise((resolve, reject) => {
    const socket = connect(Number(url.port), url.hostname);
    socket.once('error', reject);
    socket.once('data', () => {
      socket.removeListener('error', reject);
      // The server closes idle connections after a while; that is no failure.
      socket.on('error', () => {});
      resolve(socket);
    });
    socket.write(`GET ${path} HTTP/1.1\r\nHost: ${url.host}\r\n\r\n`);
  });

const openMany = async (server: ServerProcess, path: string, count: number): Promise<Socket[]> => {
  const url = new URL(server.url);
  const sockets: Socket[] = [];
  while (sockets.length < count) {
    const size = Math.min(waveSize, count - sockets.length);
    sockets.push(...(await Promise.all(Array.from({ length: size }, () => openOne(url, path)))));
  }
  return sockets;
};

/** Rejects when the system does not allow so many connections (`ulimit -n`). */
export const measureIdle = async (
  process: ServerProcess,
  { connections, path }: { readonly connections: number; readonly path: string },
): Promise<{ readonly connections: number; readonly bytesPerConnection: number }> => {
  const pid = process.child.pid ?? 0;
  const first = await openMany(process, path, firstConnections);
  for (const socket of first) socket.destroy();
  await pause(quietMs);
  const before = readResidentBytes(pid);
  const sockets = await openMany(process, path, connections);
  await pause(quietMs);
  const open = sockets.filter((socket) => !socket.destroyed && socket.readyState === 'open').length;
  const after = readResidentBytes(pid);
  for (const socket of sockets) socket.destroy();
  return { connections: open, bytesPerConnection: Math.max(0, after - before) / Math.max(1, open) };
};
