/**
 * Generates load with wrk, written in C, which sends our requests through a script in Lua.
 *
 * wrk itself measures from its first request to its last. So that a warm-up does not count, its script stores
 * the number of requests sent in a memory-mapped file, and we read it when the measured time begins and ends
 * (at most one request per connection is in flight then). Latency and failures are of the whole run. SIGINT
 * ends wrk, which then reports. Statuses are only known as "2xx" and "other".
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { readCpuTime } from '../machine/cpu.ts';
import { listCores } from '../machine/places.ts';
import { buildRequestLists } from '../scenarios/all.ts';
import type { Directory } from '../scenarios/directory.ts';
import type { LoadRequest } from '../scenarios/scenario.ts';
import { killOnExit } from '../servers/process.ts';
import { type Load, type LoadResult, type Order, percentiles, sliceSeconds, type Watch } from './order.ts';

/** Never reached: a round ends after its measured time, however slow the machine is. */
const durationMaxSeconds = 600;
const firstRequestMsMax = 30_000;
const pollMs = 5;

/** wrk has one cycle of requests for all connections: those of our connections, interleaved. */
const buildRequests = (order: Order, directory: Directory): LoadRequest[] => {
  const seconds = order.warmupSeconds + order.measureSeconds;
  const lists = buildRequestLists({ ...order, directory, seconds });
  const longest = Math.max(...lists.map((list) => list.length));
  return Array.from({ length: longest }, (_, index) => lists.flatMap((list) => list[index] ?? [])).flat();
};

/** `init` runs in the Lua states that make requests, not in the one that only reports. */
const writeScript = (requestsFile: string, countFile: string): string => `
local ffi = require("ffi")
ffi.cdef[[
int open(const char *path, int flags);
void *mmap(void *address, size_t length, int protection, int flags, int file, long offset);
]]
local requests, turn, sent = {}, 0, nil
function init()
  for line in io.lines(${JSON.stringify(requestsFile)}) do
    requests[#requests + 1] = (line:gsub("\\\\r", "\\r"):gsub("\\\\n", "\\n"))
  end
  local file = ffi.C.open(${JSON.stringify(countFile)}, 2)
  sent = ffi.cast("double *", ffi.C.mmap(nil, 8, 3, 1, file, 0))
end
function request()
  turn = turn + 1
  sent[0] = turn
  return requests[(turn - 1) % #requests + 1]
end
function done(summary, latency)
  local errors = summary.errors
  local lost = errors.connect + errors.read + errors.write + errors.timeout
  io.write(string.format("RESULT %d %d %d %d", summary.requests, errors.status, lost, summary.bytes))
  for _, percentile in ipairs({ ${percentiles.join(', ')} }) do
    io.write(string.format(" %d", latency:percentile(percentile)))
  end
  io.write("\\n")
end
`;

/** One request as one line, with escaped line ends: none of our headers or bodies contains a backslash. */
const toScriptLine = ({ method, path, headers, body = '' }: LoadRequest): string => {
  const length: Record<string, string> = body === '' ? {} : { 'Content-Length': String(body.length) };
  const lines = Object.entries({ Host: 'localhost', Connection: 'keep-alive', ...headers, ...length });
  const head = lines.map(([name, value]) => `${name}: ${value}\\r\\n`).join('');
  return `${method} ${path} HTTP/1.1\\r\\n${head}\\r\\n${body}`;
};

/** Of the whole run, warm-up included. */
interface Totals {
  readonly requests: number;
  readonly refused: number;
  readonly lost: number;
  readonly bytes: number;
  readonly latencyUs: readonly number[];
}

const parseOutput = (output: string): Totals => {
  const found = /^RESULT ([\d ]+)$/m.exec(output)?.[1]?.split(' ').map(Number);
  if (found === undefined) throw new Error(`wrk printed no result:\n${output}`);
  const [requests = 0, refused = 0, lost = 0, bytes = 0, ...latencyUs] = found;
  return { requests, refused, lost, bytes, latencyUs };
};

/** Of the measured time. */
interface Measured {
  readonly requests: number;
  readonly seconds: number;
  readonly cpuUs: number;
  readonly perSlice: readonly number[];
}

const toRoundResult = (totals: Totals, { requests, seconds, cpuUs, perSlice }: Measured): LoadResult => ({
  requests,
  requestsPerSecond: requests / seconds,
  failures: {
    ...(totals.refused > 0 && { other: totals.refused }),
    ...(totals.lost > 0 && { 'no answer': totals.lost }),
  },
  bytes: (totals.bytes * requests) / Math.max(1, totals.requests),
  latencyMs: totals.latencyUs.map((us) => us / 1_000),
  perSlice,
  generatorBusy: cpuUs / 1_000_000 / seconds,
});

const buildPlacementArgs = ({ placement }: Order): string[] =>
  placement === null ? [] : ['taskset', '-c', listCores(placement)];

export const isWrkInstalled = (): boolean => {
  try {
    execFileSync('wrk', ['--version'], { stdio: 'ignore' });
    return true;
  } catch (error) {
    // It prints its version and ends with 1.
    return (error as NodeJS.ErrnoException).code !== 'ENOENT';
  }
};

interface Wrk {
  readonly child: ChildProcess;
  /** Requests sent so far; not after `close`. */
  sent(): number;
  close(): void;
  /** Its output; rejects when it could not start. */
  readonly output: Promise<string>;
}

const collectOutput = (child: ChildProcess): Promise<string> =>
  new Promise((resolve, reject) => {
    let text = '';
    const take = (chunk: Buffer): void => {
      text += chunk.toString();
    };
    child.stdout?.on('data', take);
    child.stderr?.on('data', take);
    child.once('error', reject);
    child.once('close', () => resolve(text));
  });

const launch = (folder: string, order: Order, directory: Directory): Wrk => {
  const [requests, count, script] = ['requests.txt', 'count', 'script.lua'].map((name) => join(folder, name));
  if (requests === undefined || count === undefined || script === undefined) throw new Error('unreachable');
  const lines = buildRequests(order, directory).map((request) => toScriptLine(request));
  writeFileSync(requests, `${lines.join('\n')}\n`);
  writeFileSync(count, Buffer.alloc(8));
  writeFileSync(script, writeScript(requests, count));
  const args = ['wrk', '-t1', `-c${order.connections}`, `-d${durationMaxSeconds}s`, '-s', script, order.url];
  const [program = 'wrk', ...rest] = [...buildPlacementArgs(order), ...args];
  const child = spawn(program, rest, { stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  killOnExit(child);
  const file = openSync(count, 'r');
  const number = Buffer.alloc(8);
  const sent = (): number => {
    readSync(file, number, 0, 8, 0);
    return number.readDoubleLE(0);
  };
  return { child, sent, close: () => closeSync(file), output: collectOutput(child) };
};

const isRunning = ({ child }: Wrk): boolean =>
  child.pid !== undefined && child.exitCode === null && child.signalCode === null;

/** wrk makes one trial request before it connects; then comes the first one of every connection. */
const untilConnected = async (wrk: Wrk, connections: number): Promise<void> => {
  const untilMs = performance.now() + firstRequestMsMax;
  while (isRunning(wrk) && wrk.sent() <= connections) {
    if (performance.now() > untilMs) throw new Error('wrk could not open its connections in time');
    await pause(pollMs);
  }
};

const measure = async (wrk: Wrk, order: Order, watch: Watch): Promise<Measured> => {
  const perSlice: number[] = [];
  const begunMs = performance.now();
  const begunCpu = await readCpuTime(wrk.child);
  const first = wrk.sent();
  watch.begun();
  let last = first;
  for (let endMs = 0; endMs < order.measureSeconds * 1_000; ) {
    endMs = Math.min(order.measureSeconds, (perSlice.length + 1) * sliceSeconds) * 1_000;
    await pause(Math.max(0, begunMs + endMs - performance.now()));
    const now = wrk.sent();
    perSlice.push(now - last);
    last = now;
  }
  watch.ended();
  const seconds = (performance.now() - begunMs) / 1_000;
  const { totalUs } = await readCpuTime(wrk.child);
  return { requests: last - first, seconds, cpuUs: totalUs - begunCpu.totalUs, perSlice };
};

const perform = async (wrk: Wrk, order: Order, watch: Watch): Promise<LoadResult> => {
  let measured: Measured | null = null;
  try {
    await untilConnected(wrk, order.connections);
    if (isRunning(wrk)) {
      await pause(order.warmupSeconds * 1_000);
      measured = await measure(wrk, order, watch);
    }
  } finally {
    wrk.child.kill('SIGINT');
    wrk.close();
  }
  const output = await wrk.output;
  if (measured === null) throw new Error(`wrk ended early:\n${output}`);
  return toRoundResult(parseOutput(output), measured);
};

/** Throws what to install when wrk is missing. */
export const openWrk = (directory: Directory): Load => {
  if (!isWrkInstalled()) {
    throw new Error('wrk is not installed (Debian: apt-get install wrk); --load autocannon needs nothing.');
  }
  const folder = mkdtempSync(join(tmpdir(), 'rollcall-wrk-'));
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  process.once('exit', remove);
  let running: ChildProcess | null = null;
  return {
    name: 'wrk',
    measure: async (order, watch) => {
      const wrk = launch(folder, order, directory);
      running = wrk.child;
      return perform(wrk, order, watch);
    },
    close: async () => {
      running?.kill('SIGKILL');
      process.off('exit', remove);
      remove();
    },
  };
};
