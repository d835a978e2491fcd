/**
 * A node with a very long list of voters, and what tests of hostile clients look at: its memory, its open
 * files, whether it still answers.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { makeDataFolder, openAtRest } from '../../support/directory.ts';
import { type StartedNode, startNode } from '../../support/node-process.ts';

export interface Victim {
  readonly node: StartedNode;
  readonly port: number;
  /** A path whose answer is all voters. */
  readonly allVoters: string;
  /** MiB the process holds in memory. */
  memory(): number;
  /** Files and sockets the process has open. */
  files(): number;
  /** Rejects unless an ordinary request is answered. */
  answers(): Promise<void>;
}

const addVoters = async (dataDir: string, bot: string, voters: number): Promise<void> => {
  const stores = await openAtRest(dataDir);
  try {
    const { sql } = stores;
    const [totals] = await sql<{ incarnation: number }[]>`
      select incarnation from totals where kind = 'bot' and entity_id = ${bot}`;
    const step = 50_000;
    for (let from = 0; from < voters; from += step) {
      await sql`
        insert into votes (itag, created_at, incarnation, target_type, target_id, author, upvote, vote_num)
        select gen_random_uuid(), now() - make_interval(secs => n), ${totals?.incarnation ?? 0}, 'bot',
          ${bot},
          'voter-' || n, true, 0
        from generate_series(${from + 1}::int, ${Math.min(voters, from + step)}::int) as n`;
    }
  } finally {
    await stores.close();
  }
};

/** Makes the folder and starts the node. */
export const startVictim = async (
  dataDir: string,
  voters: number,
  settings: Readonly<Record<string, string>> = {},
): Promise<Victim> => {
  const { bots } = await makeDataFolder(dataDir, { users: 1, bots: 1, servers: 0, teams: 1, packs: 0 });
  const bot = bots[0] ?? '';
  await addVoters(dataDir, bot, voters);
  const node = await startNode({ dataDir, settings: { LOG_LEVEL: 'debug', ...settings } });
  const { url, pid } = node;
  return {
    node,
    port: Number(new URL(url).port),
    allVoters: `/bots/${bot}/votes/user-list`,
    memory: () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1_024,
    files: () => readdirSync(`/proc/${pid}/fd`).length,
    answers: async () => {
      const { status } = await fetch(`${url}/bots/${bot}`, { signal: AbortSignal.timeout(10_000) });
      if (status !== 200) throw new Error(`an ordinary request got ${status}`);
    },
  };
};

const quiet = (): void => {};

/** A connection that is up; what comes back is thrown away, and so are its errors. */
export const openSocket = (port: number): Promise<Socket> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.on('error', quiet).once('close', () => resolve(socket));
    socket.resume().once('connect', () => resolve(socket));
  });

/** Writes `piece` until the server has closed, or so many bytes are gone. Resolves to their number. */
export const pour = async (socket: Socket, piece: string, bytesMax: number): Promise<number> => {
  let written = 0;
  let closed = socket.destroyed;
  socket.once('close', () => {
    closed = true;
  });
  while (!closed && written < bytesMax) {
    written += piece.length;
    if (socket.write(piece)) await new Promise((resolve) => setImmediate(resolve));
    else
      await Promise.race(['drain', 'close'].map((event) => new Promise((done) => socket.once(event, done))));
    socket.removeAllListeners('drain');
  }
  socket.destroy();
  return written;
};

/** One request on a connection of its own; resolves to the bytes of the answer, however it ended. */
export const askOnce = (port: number, path: string, leaveAfterBytes = Number.POSITIVE_INFINITY) =>
  new Promise<number>((resolve) => {
    const socket = connect(port, '127.0.0.1');
    let bytes = 0;
    socket.on('error', quiet).on('close', () => resolve(bytes));
    socket.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes >= leaveAfterBytes) socket.destroy();
    });
    socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`);
  });
