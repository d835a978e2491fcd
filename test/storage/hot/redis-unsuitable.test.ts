/**
 * A server that speaks Redis' protocol and has no functions is refused at start by the name that it gives
 * itself.
 */
import { createServer, type Socket } from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { openRedisStore } from '../../../storage/hot/redis/store.ts';
import { openFault } from '../../../storage/sql/open-fault.ts';
import { close, listen } from '../../support/loopback.ts';

const test = suite('unsuitable hot stores');

/** Answers INFO, refuses FUNCTION, and says OK to all else, as far as a client's start needs. */
const answer = (socket: Socket, info: string, data: string): void => {
  // What does not begin as a command is the rest of the library's code.
  for (const command of data.split(/(?=\*\d+\r\n)/).filter((text) => text.startsWith('*'))) {
    const words = command.split('\r\n').filter((_word, index) => index > 0 && index % 2 === 0);
    const name = (words[0] ?? '').toUpperCase();
    if (name === 'INFO') socket.write(`$${info.length}\r\n${info}\r\n`);
    else if (name === 'FUNCTION') socket.write("-ERR unknown command 'FUNCTION'\r\n");
    else if (name === 'HELLO') socket.write("-ERR unknown command 'HELLO'\r\n");
    else socket.write('+OK\r\n');
  }
};

const servers: readonly [info: string, name: string][] = [
  ['redis_version:7.4.0\r\ndragonfly_version:df-v1.30.1\r\ngcc_version:13.2\r\n', 'Dragonfly df-v1.30.1'],
  ['redis_version:6.2.14\r\ngcc_version:12.2.0\r\n', 'Redis 6.2.14'],
  ['redis_version:7.2.4\r\nserver_name:keydb\r\n', 'Keydb 7.2.4'],
];
for (const [info, name] of servers) {
  test(`${name} is refused by name`, async () => {
    const sockets = new Set<Socket>();
    const server = createServer((socket) => {
      sockets.add(socket);
      socket.on('error', () => socket.destroy());
      socket.on('data', (data) => answer(socket, info, data.toString()));
    });
    const port = await listen(server);
    const error = await openRedisStore({ urls: [`redis://127.0.0.1:${port}`] }).catch((cause) => cause);
    for (const socket of sockets) socket.destroy();
    await close(server);

    const { message } = openFault('REDIS_URL', [`redis://127.0.0.1:${port}`], error);
    assert.ok(
      message.startsWith(`REDIS_URL: Redis at 127.0.0.1:${port}: it cannot be used (${name} has no `),
    );
    assert.match(message, /use Redis 7\.0 or later, or Valkey/);
  });
}

test.run();
