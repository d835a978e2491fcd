/**
 * A proxy program of the test's own: started in the foreground as one process, ended with the test.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';

export interface ProxyProgram {
  dispose(): Promise<void>;
}

const startMsMax = 60_000;

const listens = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    const end = (is: boolean): void => {
      socket.destroy();
      resolve(is);
    };
    socket.once('connect', () => end(true));
    socket.once('error', () => end(false));
  });

/** Starts the program; resolves when `port` is open. Rejects with what it said when it does not start. */
export const startProxy = async (
  command: readonly [program: string, ...words: string[]],
  env: Record<string, string>,
  port: number,
): Promise<ProxyProgram> => {
  const [program, ...words] = command;
  const child = spawn(program, words, { env, stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  child.stderr.on('data', (data: Buffer) => {
    said = (said + data).slice(-4_000);
  });
  const end = (): void => void child.kill('SIGKILL');
  process.once('exit', end);
  const endMs = performance.now() + startMsMax;
  while (!(await listens(port))) {
    if (child.exitCode !== null || performance.now() > endMs)
      throw new Error(`${program} did not start:\n${said}`);
    await pause(10);
  }
  return {
    dispose: async () => {
      process.off('exit', end);
      const exited = once(child, 'exit');
      end();
      await exited;
    },
  };
};
