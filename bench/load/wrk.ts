/**
 * The load by wrk, where that is installed (`--load wrk`): a generator in C that needs a fraction of the
 * CPU.
 *
 * Sends the same requests through a Lua script. Its warm-up counts with the rest, and so does the server's
 * CPU. Statuses are only known as "2xx" and "other".
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { cpuTimeOf } from '../measure/cpu.ts';
import { coresOf } from '../measure/places.ts';
import { scenarioOf } from '../scenarios/all.ts';
import type { LoadRequest } from '../scenarios/scenario.ts';
import type { Directory } from '../servers/directory.ts';
import type { Load } from './autocannon.ts';
import { type LoadResult, type Order, percentiles } from './order.ts';

/** wrk has one ring for all connections: those of all connections, interleaved. */
const ringOf = (order: Order, directory: Directory): LoadRequest[] => {
  const { connections, round } = order;
  const seconds = order.warmupSeconds + order.measureSeconds;
  const scenario = scenarioOf(order.scenario);
  const rings = Array.from({ length: connections }, (_, connection) =>
    scenario.requestsOf({ directory, round, connection, connections, seconds }),
  );
  const longest = Math.max(...rings.map((ring) => ring.length));
  return Array.from({ length: longest }, (_, index) => rings.flatMap((ring) => ring[index] ?? [])).flat();
};

const script = (file: string): string => `
local ring, turn = {}, 0
for line in io.lines(${JSON.stringify(file)}) do
  ring[#ring + 1] = (line:gsub("\\\\r", "\\r"):gsub("\\\\n", "\\n"))
end
function request()
  turn = turn % #ring + 1
  return ring[turn]
end
function done(summary, latency)
  local errors = summary.errors
  local lost = errors.connect + errors.read + errors.write + errors.timeout
  io.write(string.format("RESULT %d %d %d %d %d", summary.requests, summary.duration,
    errors.status, lost, summary.bytes))
  for _, percentile in ipairs({ ${percentiles.join(', ')} }) do
    io.write(string.format(" %d", latency:percentile(percentile)))
  end
  io.write("\\n")
end
`;

/** One request as one line: line ends are written out, as no header or body of ours holds a backslash. */
const lineOf = ({ method, path, headers, body = '' }: LoadRequest, host: string): string => {
  const length: Record<string, string> = body === '' ? {} : { 'Content-Length': String(body.length) };
  const lines = Object.entries({ Host: host, Connection: 'keep-alive', ...headers, ...length });
  const head = lines.map(([name, value]) => `${name}: ${value}\\r\\n`).join('');
  return `${method} ${path} HTTP/1.1\\r\\n${head}\\r\\n${body}`;
};

interface Counts {
  readonly requests: number;
  readonly microseconds: number;
  readonly refused: number;
  readonly lost: number;
  readonly bytes: number;
  readonly latencyUs: readonly number[];
}

const parseOutput = (output: string): Counts => {
  const found = /^RESULT ([\d ]+)$/m.exec(output)?.[1]?.split(' ').map(Number);
  if (found === undefined) throw new Error(`wrk said nothing of use:\n${output}`);
  const [requests = 0, microseconds = 0, refused = 0, lost = 0, bytes = 0, ...latencyUs] = found;
  return { requests, microseconds, refused, lost, bytes, latencyUs };
};

const resultOf = (counts: Counts, cpuUs: number): LoadResult => ({
  requests: counts.requests,
  requestsPerSecond: (counts.requests * 1_000_000) / counts.microseconds,
  statuses: { '2xx': counts.requests - counts.refused, other: counts.refused },
  errors: counts.lost,
  bytes: counts.bytes,
  latencyMs: counts.latencyUs.map((us) => us / 1_000),
  perSlice: [],
  generatorBusy: cpuUs / counts.microseconds,
});

const prefixOf = ({ placement }: Order): string[] =>
  placement === null ? [] : ['taskset', '-c', coresOf(placement)];

const outputOf = (child: ChildProcess): Promise<string> =>
  new Promise((resolve, reject) => {
    let text = '';
    child.stdout?.on('data', (chunk: Buffer) => {
      text += chunk.toString();
    });
    child.once('error', reject);
    child.once('close', () => resolve(text));
  });

export const wrkIsThere = (): boolean => {
  try {
    execFileSync('wrk', ['--version'], { stdio: 'ignore' });
    return true;
  } catch (error) {
    // It prints its version and ends with 1.
    return (error as NodeJS.ErrnoException).code !== 'ENOENT';
  }
};

/** Throws in words when wrk is not there. */
export const openWrk = (directory: Directory): Load => {
  if (!wrkIsThere()) {
    throw new Error('wrk is not installed (Debian: apt-get install wrk); --load autocannon needs nothing.');
  }
  const folder = mkdtempSync(join(tmpdir(), 'rollcall-wrk-'));
  let running: ChildProcess | null = null;
  return {
    name: 'wrk',
    run: async (order, watch) => {
      const requests = join(folder, 'requests.txt');
      const { host } = new URL(order.url);
      const lines = ringOf(order, directory).map((request) => lineOf(request, host));
      writeFileSync(requests, `${lines.join('\n')}\n`);
      writeFileSync(join(folder, 'script.lua'), script(requests));
      const seconds = Math.max(1, Math.ceil(order.warmupSeconds + order.measureSeconds));
      const words = ['-t1', `-c${order.connections}`, `-d${seconds}s`, '-s', join(folder, 'script.lua')];
      const [program = 'wrk', ...rest] = [...prefixOf(order), 'wrk', ...words, order.url];
      const child = spawn(program, rest, { stdio: ['ignore', 'pipe', 'ignore'] });
      running = child;
      watch.begun();
      let usedUs = 0;
      const look = setInterval(() => {
        cpuTimeOf(child).then(
          ({ totalUs }) => {
            usedUs = totalUs;
          },
          () => clearInterval(look),
        );
      }, 100);
      const output = await outputOf(child).finally(() => clearInterval(look));
      watch.ended();
      running = null;
      return resultOf(parseOutput(output), usedUs);
    },
    close: async () => {
      running?.kill('SIGKILL');
      rmSync(folder, { recursive: true, force: true });
    },
  };
};
