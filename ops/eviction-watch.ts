/**
 * Watches whether Redis may evict counters: with a memory limit and a policy other than `noeviction`, it
 * throws away what nothing else has, without a word.
 *
 * Such a Redis is refused at start. One that is changed under way goes on being used, as the node cannot mend
 * it: `/readyz` says it in its notes, the log when it begins and when it ends, a gauge all the time. While
 * Redis does not answer, what was seen last stands. Called by rollcall.ts.
 */
import type { MemorySettings } from '../storage/open.ts';

export interface EvictionWatchParts {
  /** The settings of each primary; `null` where the store is inside this process. */
  readonly memorySettings: (() => Promise<readonly MemorySettings[]>) | null;
  /** Takes how many primaries may evict now. */
  readonly measured: (servers: number) => void;
  readonly log: { error(words: string): void; warn(words: string): void; info(words: string): void };
}

export interface EvictionWatch {
  /** The first look. Rejects with words for the operator when a primary may evict. */
  demandNone(): Promise<void>;
  /** Never rejects: another note says that a store does not answer. */
  look(): Promise<void>;
  /** Words while a primary may evict, would with a memory limit, or does not tell. */
  notes(): readonly string[];
}

/** With the time of a look, well within the minute that docs/operating.md names. */
export const evictionLookEveryMs = 20_000;

const isSafe = ({ policy }: MemorySettings): boolean => policy === 'noeviction';
const mayEvict = (settings: MemorySettings): boolean =>
  !isSafe(settings) && settings.policy !== '' && settings.maxmemoryBytes > 0;

const cure = 'set maxmemory-policy noeviction there (in its configuration, and at once with CONFIG SET)';

const wordsOf = (settings: MemorySettings): string => {
  const { server, policy, maxmemoryBytes } = settings;
  if (policy === '') {
    return `Redis at ${server} does not tell its maxmemory-policy: make sure that it is noeviction`;
  }
  const found = `maxmemory-policy is ${policy} and maxmemory is ${maxmemoryBytes}`;
  if (mayEvict(settings)) return `Redis at ${server} may evict counters: ${found}; ${cure}`;
  return `Redis at ${server} would evict counters if it had a memory limit: ${found}; ${cure}`;
};

/** `look` is to be called every `evictionLookEveryMs`. */
export const createEvictionWatch = (parts: EvictionWatchParts): EvictionWatch => {
  let notes: readonly string[] = [];
  const ask = parts.memorySettings ?? (async () => []);
  const take = (settings: readonly MemorySettings[]): void => {
    const before = new Set(notes);
    notes = settings.filter((one) => !isSafe(one)).map(wordsOf);
    parts.measured(settings.filter(mayEvict).length);
    for (const one of settings) {
      const words = wordsOf(one);
      if (isSafe(one) || before.has(words)) continue;
      if (mayEvict(one)) parts.log.error(words);
      else parts.log.warn(words);
    }
    if (before.size > 0 && notes.length === 0)
      parts.log.info('Redis evicts nothing: maxmemory-policy noeviction');
  };
  return {
    demandNone: async () => {
      const settings = await ask();
      const [evicting] = settings.filter(mayEvict);
      if (evicting !== undefined) throw new Error(`REDIS_URL: ${wordsOf(evicting)}, then start again.`);
      take(settings);
    },
    look: () => ask().then(take, () => {}),
    notes: () => notes,
  };
};
