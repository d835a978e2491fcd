/**
 * A whole node inside the test's process, with the demo directory and its tokens, on ports of the system's
 * choice.
 *
 * For tests and benches that need everything wired as the program wires it, but no process to kill. Making
 * one takes some seconds; use one per file.
 */
import './support/no-draws.ts';
import { readConfig } from '../ops/config/config.ts';
import type { DemoFile } from '../ops/demo/demo.ts';
import { type Running, type StartInput, start } from '../ops/rollcall.ts';
import { makeFolder } from './support/folder.ts';
import { makeBareFolder } from './support/sql-template.ts';

export interface WorldOptions {
  /** Environment variables beside the folder and the ports. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Puts something between the engine and its stores, or takes the log. */
  readonly hooks?: StartInput;
}
export interface World extends Running {
  readonly demo: DemoFile;
  /** Temporary; removed by `close`. */
  readonly dataDir: string;
  /** Drains the node and removes its folder. */
  close(): Promise<void>;
}

/** Starts the node. */
export const openWorld = async (options: WorldOptions = {}): Promise<World> => {
  const dataDir = makeFolder('rollcall-world-');
  const config = readConfig({
    DATA_DIR: dataDir,
    PORT: '0',
    ADMIN_PORT: '0',
    DEMO: 'on',
    LOG_LEVEL: 'silent',
    ...options.settings,
  });
  await makeBareFolder(dataDir);
  const running = await start(config, options.hooks);
  if (running.demo === null) throw new Error('a new folder gets the demo directory');
  const close = async (): Promise<void> => {
    await running.stop();
  };
  return { ...running, demo: running.demo, dataDir, close };
};
