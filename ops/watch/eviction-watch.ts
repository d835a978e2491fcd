/**
 * Checks that Redis cannot evict counters. With a memory limit and a policy other than `noeviction`, Redis
 * silently deletes data that is stored nowhere else.
 *
 * A node does not start on such a Redis. When the settings of Redis change later, the node keeps running,
 * since it cannot repair them, and reports: a note and a gauge. While Redis does not answer, the last result
 * stays.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { type Note, toNote } from '../../engine/tools/notes.ts';
import type { MemorySettings } from '../../storage/open.ts';

export interface EvictionWatchParts {
  /** Reads the settings of each primary; `null` for the embedded store. */
  readonly memorySettings: (() => Promise<readonly MemorySettings[]>) | null;
  /** Receives the number of primaries that may evict, after each check. */
  readonly onMeasured: (servers: number) => void;
}

/** The pause between two checks (docs/operators/redis.md). */
const everyMs = 20_000;
/**
 * How long the first check waits for a connection. A process that stalls during its start, on a busy machine,
 * takes its own pause for silence of Redis and connects again.
 */
const reconnectMsMax = 5_000;
const reconnectPauseMs = 50;

const isSafe = ({ policy }: MemorySettings): boolean => policy === 'noeviction';
const mayEvict = (settings: MemorySettings): boolean =>
  !isSafe(settings) && settings.policy !== '' && settings.maxmemoryBytes > 0;

const remedy = 'set maxmemory-policy noeviction there (in its configuration file, and with CONFIG SET)';

const describeRisk = (settings: MemorySettings): string => {
  const { server, policy, maxmemoryBytes } = settings;
  if (policy === '') {
    return `Redis at ${server} does not tell its maxmemory-policy: make sure that it is noeviction`;
  }
  const current = `maxmemory-policy is ${policy} and maxmemory is ${maxmemoryBytes}`;
  if (mayEvict(settings)) return `Redis at ${server} may evict counters: ${current}; ${remedy}`;
  return `Redis at ${server} would evict counters if it had a memory limit: ${current}; ${remedy}`;
};

/** Notes: a primary may evict, would with a memory limit, or hides its policy. */
export const createEvictionWatch = (parts: EvictionWatchParts) => {
  let notes: readonly Note[] = [];
  const readSettings = parts.memorySettings ?? (async () => []);
  const update = (settings: readonly MemorySettings[]): void => {
    notes = settings
      .filter((server) => !isSafe(server))
      .map((server) => toNote(mayEvict(server) ? 'redis_may_evict' : 'redis_policy', describeRisk(server)));
    parts.onMeasured(settings.filter(mayEvict).length);
  };
  const readPatiently = async (): Promise<readonly MemorySettings[]> => {
    const endMs = performance.now() + reconnectMsMax;
    for (;;) {
      try {
        return await readSettings();
      } catch (error) {
        if (performance.now() > endMs) throw error;
      }
      await pause(reconnectPauseMs);
    }
  };
  return {
    everyMs,
    /**
     * The first check. Rejects with a message for the operator when a primary may evict, or when one does not
     * answer for 5 s.
     */
    assertNoEviction: async () => {
      const settings = await readPatiently();
      const [evicting] = settings.filter(mayEvict);
      if (evicting !== undefined) throw new Error(`REDIS_URL: ${describeRisk(evicting)}, then start again.`);
      update(settings);
    },
    check: () => readSettings().then(update, () => {}),
    listNotes: () => notes,
  };
};
