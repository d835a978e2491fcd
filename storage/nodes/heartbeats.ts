/**
 * The nodes known in Redis: which nodes are alive now, and the facts each reports. (membership.ts lists the
 * nodes known in SQL, for downtimes and jobs.)
 *
 * One script, under the clock of Redis, records a heartbeat, drops nodes without one for `heartbeatLifeMs`,
 * or with one from before that clock was set back, and answers with the live nodes. While Redis is away the
 * last answer stays in use, so work may be divided by this list only if doing it twice is harmless.
 */
import type { RedisCommands } from './commands.ts';

/** What a node reports about itself. */
export interface NodeFacts {
  /** Version of the function library it calls; `''` if none. */
  readonly library: string;
  /** URL of its listener for operators. */
  readonly adminUrl: string;
  /** Its version of the program, and what it measures. */
  readonly version: string;
  readonly figures: Readonly<Record<string, number | null>>;
  /** Whether it reaches SQL and so can flush. */
  readonly reachesSql: boolean;
}
export interface LiveNode extends NodeFacts {
  readonly name: string;
}

export interface HeartbeatOptions {
  readonly commands: RedisCommands;
  /** Unique among all nodes. */
  readonly name: string;
  /** Called for each heartbeat. */
  readonly readFacts: () => NodeFacts;
}

/**
 * Lists the names of the nodes that flush. A node without SQL leaves its shards to the others; if no node has
 * SQL, the work stays divided among all, for when it returns.
 */
export const listFlushers = (nodes: readonly LiveNode[]): readonly string[] => {
  const able = nodes.filter(({ reachesSql }) => reachesSql);
  return (able.length > 0 ? able : nodes).map(({ name }) => name);
};

/** With the next heartbeat after it, others take over the work of a dead node within 10 s. */
export const heartbeatLifeMs = 7_000;
export const heartbeatEveryMs = 3_000;

/** Exists while a node is alive. */
export const nodesSeenKey = '{rollcall:nodes}:seen';
const factsKey = '{rollcall:nodes}:facts';

const heartbeatScript = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZADD', KEYS[1], now, ARGV[1])
redis.call('HSET', KEYS[2], ARGV[1], ARGV[2])
local life = tonumber(ARGV[3])
for _, range in ipairs({{'-inf', now - life}, {now + life, '+inf'}}) do
  for _, gone in ipairs(redis.call('ZRANGE', KEYS[1], range[1], range[2], 'BYSCORE', 'LIMIT', 0, 1000)) do
    redis.call('ZREM', KEYS[1], gone)
    redis.call('HDEL', KEYS[2], gone)
  end
end
redis.call('PEXPIRE', KEYS[1], life)
redis.call('PEXPIRE', KEYS[2], life)
return redis.call('HGETALL', KEYS[2])`;

const leaveScript = `
redis.call('ZREM', KEYS[1], ARGV[1])
return redis.call('HDEL', KEYS[2], ARGV[1])`;

const readNodes = (pairs: readonly string[]): readonly LiveNode[] => {
  const nodes: LiveNode[] = [];
  for (let index = 0; index + 1 < pairs.length; index += 2) {
    nodes.push({ ...(JSON.parse(pairs[index + 1] ?? '') as NodeFacts), name: pairs[index] ?? '' });
  }
  return nodes.sort((one, other) => (one.name < other.name ? -1 : 1));
};

/** Creates the client side; sends nothing yet. */
export const createHeartbeats = ({ commands, name, readFacts }: HeartbeatOptions) => {
  let liveNodes: readonly LiveNode[] = [{ ...readFacts(), name }];
  return {
    /**
     * Records a heartbeat; resolves to the live nodes, sorted by name. Call every `heartbeatEveryMs`. Rejects
     * when Redis is away.
     */
    sendHeartbeat: async () => {
      const args = [
        heartbeatScript,
        2,
        nodesSeenKey,
        factsKey,
        name,
        JSON.stringify(readFacts()),
        heartbeatLifeMs,
      ];
      liveNodes = readNodes((await commands.send('EVAL', args)) as string[]);
      return liveNodes;
    },
    /** Lists the live nodes as of the last heartbeat; before the first one, only this node. */
    listNodes: () => liveNodes,
    /** Lists the library versions that live nodes call. */
    listVersions: () => new Set(liveNodes.map(({ library }) => library).filter(Boolean)),
    /** Removes this node from the list at once. */
    leave: async () => {
      await commands.send('EVAL', [leaveScript, 2, nodesSeenKey, factsKey, name]);
    },
  };
};
export type Heartbeats = ReturnType<typeof createHeartbeats>;
