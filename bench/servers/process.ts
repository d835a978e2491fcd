/**
 * Runs one measured server as a process of its own: starts it, reads the address it prints, ends it by its
 * pid.
 *
 * Measures nothing. Records every process it starts until that has ended, so that an interrupted run leaves
 * none behind.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { isAbsolute } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildEnvironment, buildNodeFlags, preloaded } from '../../ops/setup/launch.mjs';
import { hasProc } from '../machine/cpu.ts';

export interface ServerProcess {
  readonly child: ChildProcess;
  readonly url: string;
  /** The operator's listener; '' where there is none. */
  readonly adminUrl: string;
  /** SIGTERM, then SIGKILL when it takes too long. Resolves when it has ended. */
  stop(): Promise<void>;
  /** SIGKILL; resolves when it has ended. */
  kill(): Promise<void>;
}

export interface Program {
  /** Relative to this folder; an absolute path is a program of its own, which chooses its Node. */
  readonly file: string;
  readonly args?: readonly string[];
  readonly settings?: Readonly<Record<string, string>>;
  /** Further arguments for Node, e.g. `--cpu-prof`. */
  readonly nodeArgs?: readonly string[];
}

const running = new Set<ChildProcess>();
const stopMs = 15_000;
const preload = fileURLToPath(new URL('../programs/report-cpu.ts', import.meta.url));

/** When this process ends, however it ends, it kills the started one. */
export const killOnExit = (child: ChildProcess): void => {
  running.add(child);
  child.once('close', () => running.delete(child));
};

const launch = ({
  file,
  args: words = [],
  settings = {},
  nodeArgs: nodeWords = [],
}: Program): ChildProcess => {
  const isOwn = isAbsolute(file);
  const program = fileURLToPath(new URL(file, import.meta.url));
  const reporting = hasProc ? [] : ['--import', preload];
  const node = [...buildNodeFlags(settings), ...preloaded, ...reporting, ...nodeWords];
  const [command, given] = isOwn ? [file, words] : [process.execPath, [...node, program, ...words]];
  const child = spawn(command, given, {
    // A process group of its own: Ctrl-C in a terminal reaches the suite alone, which ends its servers in
    // order.
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe', ...(hasProc ? [] : (['ipc'] as const))],
    env: { ...process.env, ...(isOwn ? settings : buildEnvironment(settings)) },
  });
  killOnExit(child);
  return child;
};

const ended = (child: ChildProcess): Promise<number | null> =>
  new Promise((resolve) => {
    child.once('close', resolve);
  });

const collectOutput = (child: ChildProcess): (() => string) => {
  let text = '';
  const take = (chunk: Buffer): void => {
    text = (text + chunk.toString()).slice(-8_000);
  };
  child.stdout?.on('data', take);
  child.stderr?.on('data', take);
  return () => text;
};

/** Runs a program to its end. Rejects with its output when its exit code is not 0. */
export const runProgram = async (program: Program): Promise<void> => {
  const child = launch(program);
  const output = collectOutput(child);
  const code = await ended(child);
  if (code !== 0) throw new Error(`${program.file} ended with ${code}:\n${output()}`);
};

/** Starts a server and waits until it has printed its address. */
export const startServer = async (program: Program): Promise<ServerProcess> => {
  const child = launch(program);
  const output = collectOutput(child);
  const closed = ended(child);
  const url = await new Promise<string>((resolve, reject) => {
    const look = (): void => {
      const found = /Address +(http:\S+)\n/.exec(output())?.[1];
      if (found !== undefined) resolve(found);
    };
    child.stdout?.on('data', look);
    closed.then((code) => reject(new Error(`${program.file} ended with ${code}:\n${output()}`)), reject);
  });
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM');
    const timer = setTimeout(() => child.kill('SIGKILL'), stopMs);
    await closed;
    clearTimeout(timer);
  };
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL');
    await closed;
  };
  return { child, url, adminUrl: /Operator +(http:\S+)/.exec(output())?.[1] ?? '', stop, kill };
};

/** Kills every process started here, at once. */
export const killAll = (): void => {
  for (const child of running) child.kill('SIGKILL');
};
