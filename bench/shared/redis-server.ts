/**
 * Starts a Redis for a test or a bench: one process on a free port, with its data in a temporary folder.
 *
 * Every server has a guardian, a shell whose standard input is a pipe from this process: when this process
 * ends, however it ends, the pipe closes and the guardian kills its server by pid and removes the folder. So
 * nothing is left behind, and no other Redis is touched.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { connect as openSocket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { findFreePort } from './free-port.ts';
import { findRedisServer } from './redis-install.ts';

const startTimeoutMs = 60_000;
const startAttempts = 3;

/**
 * `$1` the folder, the rest the server's command line. One line of input means: end the server, keep the
 * folder.
 */
const guardianScript = `
folder=$1; shift
"$@" >>"$folder/log" 2>&1 </dev/null &
server=$!
echo $server
trap '' INT TERM HUP
if read -r line; then kill -9 $server; else kill -9 $server; wait $server; rm -rf "$folder"; fi
wait $server
`;

export interface RedisOptions {
  /** Configuration lines beside the durable ones, each as `name value`. */
  readonly settings?: readonly string[];
  /**
   * The address it listens on; default 127.0.0.1. With another address it accepts connections from anywhere.
   */
  readonly host?: string;
  /** A program with its arguments that starts the server, such as `nsenter`; it must exec the server. */
  readonly through?: readonly string[];
  /** Environment variables of the server alone. */
  readonly environment?: Readonly<Record<string, string>>;
}

interface Guarded {
  readonly guardian: ChildProcess;
  readonly pid: number;
}

const loopback = '127.0.0.1';
const durable = ['appendonly yes', 'appendfsync always', 'save ""', 'daemonize no'];

interface Place {
  readonly host: string;
  readonly port: number;
  readonly folder: string;
}

const commandLine = (path: string, { host, port, folder }: Place, options: RedisOptions): string[] => {
  const reach = [`bind ${host}`, `protected-mode ${host === loopback ? 'yes' : 'no'}`];
  const lines = [...durable, ...reach, `port ${port}`, `dir ${folder}`, ...(options.settings ?? [])];
  const environment = Object.entries(options.environment ?? {}).map(([name, value]) => `${name}=${value}`);
  const before = ['env', ...environment, ...(options.through ?? [])];
  return [...before, path, ...lines.flatMap((line) => splitSetting(line))];
};

const splitSetting = (line: string): string[] => {
  const blank = line.indexOf(' ');
  const value = line.slice(blank + 1);
  return [`--${line.slice(0, blank)}`, value === '""' ? '' : value];
};

const guard = async (folder: string, command: readonly string[]): Promise<Guarded> => {
  const guardian = spawn('sh', ['-c', guardianScript, 'guardian', folder, ...command], {
    stdio: ['pipe', 'pipe', 'ignore'],
    detached: true,
  });
  guardian.unref();
  const lines = createInterface({ input: guardian.stdout as NodeJS.ReadableStream });
  const [line] = (await once(lines, 'line')) as [string];
  lines.close();
  (guardian.stdout as unknown as { destroy(): void }).destroy();
  (guardian.stdin as unknown as { unref?: () => void }).unref?.();
  return { guardian, pid: Number(line) };
};

/** The answer to one PING; '' without an answer. */
const ping = ({ host, port }: Place): Promise<string> =>
  new Promise((resolve) => {
    const socket = openSocket(port, host);
    const end = (answer: string): void => {
      socket.destroy();
      resolve(answer);
    };
    socket.setTimeout(1_000, () => end(''));
    socket.once('error', () => end(''));
    socket.once('data', (data) => end(data.toString()));
    socket.once('connect', () => socket.write('PING\r\n'));
  });

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0) && !hasEnded(pid);
  } catch {
    // No such process.
    return false;
  }
};

/** Whether it has ended but its guardian has not collected it yet (a zombie). Only Linux shows that. */
const hasEnded = (pid: number): boolean => {
  try {
    return /\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
};

const waitForAnswer = async (place: Place, pid: number): Promise<void> => {
  const { port, folder } = place;
  const deadline = Date.now() + startTimeoutMs;
  while (Date.now() < deadline) {
    if ((await ping(place)).startsWith('+PONG') && isAlive(pid)) return;
    if (!isAlive(pid)) break;
    await pause(10);
  }
  const log = await readFile(join(folder, 'log'), 'utf8').catch(() => '');
  throw new Error(`redis-server on port ${port} did not start:\n${log.slice(-2_000)}`);
};

const endGuarded = async ({ guardian }: Guarded, keepFolder: boolean): Promise<void> => {
  if (guardian.exitCode !== null) return;
  const exited = once(guardian, 'exit');
  guardian.ref();
  guardian.stdin?.end(keepFolder ? 'keep\n' : '');
  await exited;
};

const startOnce = async (options: RedisOptions) => {
  const path = await findRedisServer();
  const folder = await mkdtemp(join(tmpdir(), 'rollcall-redis-'));
  const { host = loopback } = options;
  const port = await findFreePort();
  const place = { host, port, folder };
  const command = commandLine(path, place, options);
  let guarded = await guard(folder, command);
  const dispose = async (): Promise<void> => {
    await endGuarded(guarded, false);
    await rm(folder, { recursive: true, force: true });
  };
  try {
    await waitForAnswer(place, guarded.pid);
  } catch (failure) {
    await dispose();
    throw failure;
  }
  return {
    host,
    port,
    url: `redis://${host}:${port}`,
    folder,
    pid: (): number => guarded.pid,
    /** SIGKILL, and waits until it is gone. */
    kill: (): Promise<void> => endGuarded(guarded, true),
    /** Starts it again on the same port and data, after `kill`; waits until it answers. */
    async start(): Promise<void> {
      guarded = await guard(folder, command);
      await waitForAnswer(place, guarded.pid);
    },
    signal(signal: NodeJS.Signals): void {
      process.kill(guarded.pid, signal);
    },
    /** Kills it and removes its folder. */
    dispose,
  };
};
export type RedisServer = Awaited<ReturnType<typeof startOnce>>;

/**
 * Starts a server that syncs every write, and waits until it answers. Tries again with another port when its
 * port was taken meanwhile.
 */
export const startRedis = async (options: RedisOptions = {}): Promise<RedisServer> => {
  let failure: unknown;
  for (let attempt = 0; attempt < startAttempts; attempt++) {
    try {
      return await startOnce(options);
    } catch (error) {
      failure = error;
    }
  }
  throw failure;
};
