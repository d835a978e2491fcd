/**
 * Runs one round against one server: the load, and the CPU time of server and stores at both ends of the
 * measured time.
 */
import type { Load } from '../load/order.ts';
import { type CpuTime, readCpuTime, readResidentBytes } from '../machine/cpu.ts';
import { type Placement, placeProcess } from '../machine/places.ts';
import type { Sample } from '../report/result.ts';
import type { LoadScenarioName } from '../scenarios/scenario.ts';
import type { ServerName } from '../servers/contestants.ts';
import type { ServerProcess } from '../servers/process.ts';
import { findStores, type Stores } from '../servers/stores.ts';

export interface Target {
  readonly scenario: LoadScenarioName;
  readonly round: number;
  readonly usedSeconds: number;
  readonly server: ServerName;
  readonly process: ServerProcess;
  /** `null`: this machine does not allow us to place processes. */
  readonly placement: Placement | null;
}
export interface Means {
  readonly options: {
    readonly connections: number;
    readonly warmupSeconds: number;
    readonly measureSeconds: number;
    readonly rate: number;
  };
  readonly load: Load;
}

interface Mark {
  readonly atMs: number;
  readonly cpu: CpuTime;
  readonly redisUs: number;
  readonly postgresUs: number;
}

/** Rejects when the load or the server ends. */
export const measureRound = async (
  { options, load }: Means,
  stores: Stores,
  target: Target,
): Promise<Sample> => {
  const { scenario, round, usedSeconds, server, process, placement } = target;
  const { connections, warmupSeconds, measureSeconds, rate } = options;
  const own = findStores(stores, server);
  const readings: Promise<Mark>[] = [];
  const takeReading = (): void => {
    const atMs = performance.now();
    const stored = { redisUs: own?.redisUs() ?? 0, postgresUs: own?.postgresUs() ?? 0 };
    const marked = readCpuTime(process.child).then((cpu) => ({ atMs, cpu, ...stored }));
    marked.catch(() => {
      // Reported below, where the CPU times are read.
    });
    readings.push(marked);
  };
  const url = process.url;
  const seconds = { usedSeconds, warmupSeconds, measureSeconds };
  const order = { scenario, url, round, connections, rate, placement, ...seconds };
  if (placement !== null) placeProcess(process.child.pid ?? 0, placement, true);
  const result = await load.measure(order, { begun: takeReading, ended: takeReading });
  const [from, to] = await Promise.all(readings);
  if (from === undefined || to === undefined)
    throw new Error('the load generator did not report its measured time');
  const requests = Math.max(1, result.requests);
  const totalUs = to.cpu.totalUs - from.cpu.totalUs;
  return {
    scenario,
    server,
    round,
    placement: placement ?? 'free',
    load: result,
    cpuUs: totalUs / requests,
    mainCpuUs: (to.cpu.mainUs - from.cpu.mainUs) / requests,
    redisCpuUs: (to.redisUs - from.redisUs) / requests,
    postgresCpuUs: (to.postgresUs - from.postgresUs) / requests,
    cores: totalUs / 1_000 / (to.atMs - from.atMs),
    residentBytes: readResidentBytes(process.child.pid ?? 0),
  };
};
