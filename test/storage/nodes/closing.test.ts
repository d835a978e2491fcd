/**
 * The connections between nodes as they close, on a server that answers little.
 */
import { createServer, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { StorageError } from '../../../engine/errors.ts';
import { openCommands } from '../../../storage/nodes/commands.ts';
import { openListener } from '../../../storage/nodes/listener.ts';
import { listen } from '../../support/loopback.ts';
import { until } from '../../support/until.ts';

const test = suite('Closing connections between nodes');

/** Starts a server that says OK, refuses SUBSCRIBE, and leaves PUBLISH without an answer. */
const startServer = async () => {
  const received: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('data', (data) => {
      for (const command of String(data).split(/(?=\*\d+\r\n\$)/)) {
        received.push(command);
        if (/PUBLISH/i.test(command)) continue;
        socket.write(/SUBSCRIBE/i.test(command) ? '-NOPERM refused\r\n' : '+OK\r\n');
      }
    });
  });
  const port = await listen(server);
  const close = (): void => {
    server.close();
    for (const socket of sockets) socket.destroy();
  };
  return { url: `redis://127.0.0.1:${port}`, received, sockets, close };
};

test('a listener that is closed while it waits to start again does not connect', async () => {
  const { url, sockets, close } = await startServer();
  const losses: string[] = [];
  const listener = openListener({
    urls: [url],
    channels: ['news'],
    onMessage: () => {},
    onChanged: () => {},
    onLost: ({ message }) => losses.push(message),
  });
  await until('the start has failed', async () => losses.length > 0);
  listener.close();
  await pause(1_000);
  const connections = sockets.size;
  close();

  assert.equal([losses.length, connections], [1, 1], losses.join());
});

test('a command in flight as its connection closes has an unknown outcome', async () => {
  const { url, received, close } = await startServer();
  const commands = openCommands({ urls: [url], timeoutMs: 5_000, onError: () => {} });
  await until('the connection is ready', () => commands.send('SET', ['a', 'b']).then(Boolean, () => false));
  const failure = commands.send('PUBLISH', ['news', 'hello']).catch((error: StorageError) => error.outcome);
  await until('the command is there', async () => received.some((command) => /PUBLISH/i.test(command)));
  commands.close();
  close();

  assert.is(await failure, 'unknown');
});

test.run();
