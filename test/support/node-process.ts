/**
 * One node of Rollcall as a process of its own, for tests that kill, pause or drain it.
 *
 * Starts the program on ports of the system's choice and knows when it is ready; never decides what a test
 * expects of it. Every process started here is ended by its own pid.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { DemoFile } from '../../ops/demo/demo.ts';
import { findDatabase } from './alone.ts';
import { printRepliesOf } from './reply-count.ts';
import { sameEveryDay } from './rules.ts';

export const mainProgram = fileURLToPath(new URL('../../ops/main.ts', import.meta.url));

export interface NodeOptions {
  readonly dataDir: string;
  /** The file to start instead of ops/main.ts; it must print the same welcome. */
  readonly program?: string;
  /** Arguments of the program. */
  readonly args?: readonly string[];
  /** Environment variables beside DATA_DIR and the ports. */
  readonly settings?: Readonly<Record<string, string>>;
  /** A wrapper program with arguments, such as `nsenter`; it must exec the node. */
  readonly through?: readonly string[];
}

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface NodeProcess {
  readonly pid: number;
  /** Resolves when the program has printed its addresses; rejects if it ended before. */
  readonly ready: Promise<{ readonly url: string; readonly adminUrl: string }>;
  readonly exited: Promise<Exit>;
  /** Its output so far, both streams. */
  output(): string;
  signal(signal: NodeJS.Signals): void;
  /** Stops reading: later writes of the node meet a closed pipe. */
  closeOutput(): void;
  /** SIGKILL, and waits for the end. */
  kill(): Promise<Exit>;
  /** SIGTERM, and waits for the end. */
  stop(): Promise<Exit>;
}

/** Settings of every node that a test starts. */
export const quiet = {
  ...sameEveryDay,
  HOST: '127.0.0.1',
  ADMIN_HOST: '127.0.0.1',
  DEMO: 'off',
  LOG_LEVEL: 'error',
  LOG_FORMAT: 'text',
};

/** Starts a node; does not wait for it. */
export const spawnNode = (options: NodeOptions): NodeProcess => {
  const own = [
    process.execPath,
    ...process.execArgv,
    options.program ?? mainProgram,
    ...(options.args ?? []),
  ];
  const [command = '', ...words] = [...(options.through ?? []), ...own];
  const child = spawn(command, words, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...process.env,
      ...quiet,
      PORT: '0',
      ADMIN_PORT: '0',
      DATA_DIR: options.dataDir,
      ...findDatabase(options.dataDir),
      ...options.settings,
    },
  });
  let text = '';
  const exited = new Promise<Exit>((resolve) => {
    child.once('close', (code, signal) => resolve({ code, signal }));
  });
  const ready = watchWelcome(child, exited, (chunk) => {
    text += chunk;
    return text;
  });
  ready.catch(() => {
    // Callers that await `ready` get the error; a process killed during its start has none.
  });
  const signal = (name: NodeJS.Signals): void => {
    if (child.exitCode === null && child.signalCode === null) child.kill(name);
  };
  const end = (name: NodeJS.Signals): Promise<Exit> => {
    signal(name);
    return exited;
  };
  return {
    pid: child.pid ?? -1,
    ready,
    exited,
    output: () => text,
    signal,
    closeOutput: () => {
      child.stdout.destroy();
      child.stderr.destroy();
    },
    kill: () => end('SIGKILL'),
    stop: async () => {
      if (child.exitCode === null)
        await ready.then(
          ({ adminUrl }) => printRepliesOf(adminUrl),
          () => {},
        );
      return end('SIGTERM');
    },
  };
};

/** Starts a node and waits until it is ready. */
export const startNode = async (options: NodeOptions) => {
  const node = spawnNode(options);
  return { ...node, ...(await node.ready) };
};
export type StartedNode = Awaited<ReturnType<typeof startNode>>;

/** The demo file of a node that runs with `DEMO: 'on'`. */
export const readDemo = (dataDir: string): DemoFile =>
  JSON.parse(readFileSync(join(dataDir, 'demo.json'), 'utf8'));

/** Posts a number of servers for the demo bot. Resolves to the status. */
export const postServers = async (url: string, dataDir: string, servers: number): Promise<number> => {
  const headers = { 'Bot-Auth': readDemo(dataDir).bot.token };
  const body = JSON.stringify({ servers });
  return (await fetch(`${url}/bots/stats`, { method: 'POST', headers, body })).status;
};

/** The number of servers that the demo bot shows. */
export const readServers = async (url: string, dataDir: string): Promise<unknown> => {
  const reply = await fetch(`${url}/bots/${readDemo(dataDir).bot.id}`);
  return ((await reply.json()) as { servers: number }).servers;
};

const watchWelcome = (
  child: ChildProcess,
  exited: Promise<Exit>,
  append: (chunk: string) => string,
): NodeProcess['ready'] =>
  new Promise((resolve, reject) => {
    const read = (chunk: string): void => {
      const text = append(chunk);
      const url = /Address +(http:\S+)\n|"url":"(http:[^"]+)"/.exec(text)?.slice(1).find(Boolean);
      const adminUrl = /Operator +(http:\S+)\n|"adminUrl":"(http:[^"]+)"/.exec(text)?.slice(1).find(Boolean);
      if (url !== undefined && adminUrl !== undefined) resolve({ url, adminUrl });
    };
    child.stdout?.setEncoding('utf8').on('data', read);
    child.stderr?.setEncoding('utf8').on('data', read);
    exited.then(({ code, signal }) => {
      reject(new Error(`the node ended before it was ready (${code ?? signal}):\n${append('')}`));
    }, reject);
  });
