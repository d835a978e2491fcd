/**
 * Which nodes live now, by heartbeats in Redis, and what each says of itself.
 *
 * One script under Redis' own clock marks a node, drops those not heard for `heartbeatLifeMs` and answers
 * with the living, so a heartbeat and a look at the fleet are one call. While Redis is away the last answer
 * stands: work is shared by it (rendezvous hashing) only where doing it twice is harmless. Called by the
 * composition root's timer; `listVersions` says which function libraries are still in use.
 */
import type { RedisCommands } from './commands.ts';

/** What a node tells of itself. */
export interface NodeFacts {
  /** Version of the function library it calls; `''` when none. */
  readonly library: string;
  /** Where operators reach it. */
  readonly adminUrl: string;
}
export interface LivingNode extends NodeFacts {
  readonly name: string;
}

export interface Heartbeats {
  /** Marks this node and resolves to the living, sorted by name. To be called every `heartbeatEveryMs`. */
  sendHeartbeat(): Promise<readonly LivingNode[]>;
  /** The living as of the last beat; only this node before the first. */
  listNodes(): readonly LivingNode[];
  /** Library versions that some living node calls. */
  listVersions(): ReadonlySet<string>;
  /** Takes this node off at once. */
  leave(): Promise<void>;
}

export interface HeartbeatOptions {
  readonly commands: RedisCommands;
  /** Unique among the nodes of the fleet. */
  readonly name: string;
  readonly facts: NodeFacts;
}

export const heartbeatLifeMs = 10_000;
export const heartbeatEveryMs = 3_000;

const seenKey = '{rollcall:nodes}:seen';
const factsKey = '{rollcall:nodes}:facts';

const beatScript = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZADD', KEYS[1], now, ARGV[1])
redis.call('HSET', KEYS[2], ARGV[1], ARGV[2])
local life = tonumber(ARGV[3])
for _, gone in ipairs(redis.call('ZRANGE', KEYS[1], '-inf', now - life, 'BYSCORE', 'LIMIT', 0, 1000)) do
  redis.call('ZREM', KEYS[1], gone)
  redis.call('HDEL', KEYS[2], gone)
end
redis.call('PEXPIRE', KEYS[1], life)
redis.call('PEXPIRE', KEYS[2], life)
return redis.call('HGETALL', KEYS[2])`;

const leaveScript = `
redis.call('ZREM', KEYS[1], ARGV[1])
return redis.call('HDEL', KEYS[2], ARGV[1])`;

const readNodes = (pairs: readonly string[]): readonly LivingNode[] => {
  const nodes: LivingNode[] = [];
  for (let index = 0; index + 1 < pairs.length; index += 2) {
    nodes.push({ ...(JSON.parse(pairs[index + 1] ?? '') as NodeFacts), name: pairs[index] ?? '' });
  }
  return nodes.sort((one, other) => (one.name < other.name ? -1 : 1));
};

/** Sends nothing yet. */
export const createHeartbeats = ({ commands, name, facts }: HeartbeatOptions): Heartbeats => {
  let living: readonly LivingNode[] = [{ ...facts, name }];
  return {
    sendHeartbeat: async () => {
      const words = [beatScript, 2, seenKey, factsKey, name, JSON.stringify(facts), heartbeatLifeMs];
      living = readNodes((await commands.send('EVAL', words)) as string[]);
      return living;
    },
    listNodes: () => living,
    listVersions: () => new Set(living.map(({ library }) => library).filter(Boolean)),
    leave: async () => {
      await commands.send('EVAL', [leaveScript, 2, seenKey, factsKey, name]);
    },
  };
};
