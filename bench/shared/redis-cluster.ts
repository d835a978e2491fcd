/**
 * Starts a Redis Cluster for a test or a bench: three primaries and three replicas on free ports of
 * 127.0.0.1, or where the caller says.
 *
 * Made with plain CLUSTER commands, so that nothing but `redis-server` is needed. Also moves slots from one
 * primary to another, as an operator's resharding does, takes in one more primary and removes it again. Its
 * servers end with this process like all of `redis-server.ts`.
 */
import { Redis } from 'ioredis';
import { findFreePort } from './free-port.ts';
import { type RedisOptions, type RedisServer, startRedis } from './redis-server.ts';
import { until } from './until.ts';

const slotCount = 16_384;
const primaryCount = 3;

export interface ClusterOptions {
  /**
   * A server silent for so long counts as failed and is replaced. The default is long enough for a slow
   * machine: an unplanned failover loses writes.
   */
  readonly nodeTimeoutMs?: number;
  /** Where each of the six runs, primaries first. */
  readonly places?: readonly Pick<RedisOptions, 'host' | 'through'>[];
}

export interface MoveOptions {
  /** The primary that takes them: an index of `servers`. */
  readonly to: number;
  /** How many are on the move at the same time; 1 by default. */
  readonly atOnce?: number;
}

export interface SlotMove {
  /** Moves one key, or all when none is named. */
  moveKeys(only?: string): Promise<void>;
  /** Gives the slot to its new owner; all nodes agree on it when it resolves. */
  finish(): Promise<void>;
  /** The half of `finish` that the old owner sees: until then each of the two names the other as owner. */
  leave(): Promise<void>;
}

interface Member {
  readonly server: RedisServer;
  readonly busPort: number;
  readonly client: Redis;
  readonly id: string;
}

const settings = (busPort: number, nodeTimeoutMs: number): string[] => [
  'cluster-enabled yes',
  `cluster-port ${busPort}`,
  `cluster-node-timeout ${nodeTimeoutMs}`,
  // A primary whose last slot moves away stays one: more slots may move to it.
  'cluster-allow-replica-migration no',
  'cluster-replica-validity-factor 0',
  'repl-diskless-sync-delay 0',
];

const startMember = async ({ nodeTimeoutMs = 60_000, places }: ClusterOptions, index: number) => {
  const busPort = await findFreePort();
  const server = await startRedis({ settings: settings(busPort, nodeTimeoutMs), ...places?.[index] });
  const client = new Redis(server.url);
  client.on('error', () => undefined);
  return { server, busPort, client, id: String(await client.cluster('MYID')) } satisfies Member;
};

const knowsAll = async ({ client }: Member, members: readonly Member[]): Promise<boolean> => {
  const nodes = String(await client.cluster('NODES'));
  return members.every(({ id }) => nodes.includes(id)) && !nodes.includes('handshake');
};

const isReady = async ({ client }: Member): Promise<boolean> => {
  const state = String(await client.cluster('INFO'));
  const role = await client.info('replication');
  const linked = role.includes('role:master') || role.includes('master_link_status:up');
  return state.includes('cluster_state:ok') && linked;
};

const form = async (members: readonly Member[]): Promise<void> => {
  const [first] = members as [Member];
  for (const [index, { client }] of members.entries()) {
    await client.call('CLUSTER', 'SET-CONFIG-EPOCH', index + 1);
  }
  for (const { server, busPort } of members.slice(1)) {
    await first.client.call('CLUSTER', 'MEET', server.host, server.port, busPort);
  }
  for (const [index, { client }] of members.slice(0, primaryCount).entries()) {
    const from = Math.ceil((slotCount * index) / primaryCount);
    const to = Math.ceil((slotCount * (index + 1)) / primaryCount) - 1;
    await client.call('CLUSTER', 'ADDSLOTSRANGE', from, to);
  }
  await until('all know each other', async () =>
    (await Promise.all(members.map((member) => knowsAll(member, members)))).every(Boolean),
  );
  for (const [index, { client }] of members.slice(primaryCount).entries()) {
    await client.call('CLUSTER', 'REPLICATE', (members[index] as Member).id);
  }
  await until('all are ready', async () => (await Promise.all(members.map(isReady))).every(Boolean));
};

/** One server's view: every server's role, epoch and slots, without slots being moved. */
const beliefOf = async ({ client }: Member): Promise<string> => {
  const lines = String(await client.cluster('NODES'))
    .trim()
    .split('\n');
  const nodes = lines.map((line) => {
    const [id, , flags = '', primary, , , epoch, , ...slots] = line.split(' ');
    const role = flags.replace('myself,', '');
    return [id, role, primary, epoch, ...slots.filter((slot) => !slot.startsWith('['))].join(' ');
  });
  return nodes.sort().join('\n');
};

/**
 * Resolves when all agree. A slot given to a server that has not received an epoch higher than its
 * own ends with two nodes naming each other as its owner, for ever.
 */
const agreed = (members: readonly Member[]): Promise<void> =>
  until('all believe the same', async () => new Set(await Promise.all(members.map(beliefOf))).size === 1);

type SlotRange = readonly [from: number, to: number, primary: readonly [host: string, port: number]];

const readRanges = async ([first]: readonly Member[]): Promise<readonly SlotRange[]> =>
  (await (first as Member).client.call('CLUSTER', 'SLOTS')) as SlotRange[];

const findOwner = (members: readonly Member[], ranges: readonly SlotRange[], slot: number): number => {
  const range = ranges.find(([from, to]) => from <= slot && slot <= to);
  return members.findIndex(({ server }) => server.port === range?.[2][1]);
};

const ownerOf = async (members: readonly Member[], slot: number): Promise<number> =>
  findOwner(members, await readRanges(members), slot);

const slotsOf = async (members: readonly Member[], index: number): Promise<readonly number[]> => {
  const ranges = await readRanges(members);
  return ranges
    .filter(([, , [, port]]) => port === members[index]?.server.port)
    .flatMap(([from, to]) => Array.from({ length: to - from + 1 }, (_, place) => from + place))
    .sort((left, right) => left - right);
};

const listKeys = async ({ client }: Member, slot: number, limit: number): Promise<string[]> =>
  (await client.call('CLUSTER', 'GETKEYSINSLOT', slot, limit)) as string[];

const sizeOf = async (members: readonly Member[], slot: number) => {
  const owner = members[await ownerOf(members, slot)] as Member;
  const count = Number(await owner.client.call('CLUSTER', 'COUNTKEYSINSLOT', slot));
  const keys = await listKeys(owner, slot, count);
  const sizes = await Promise.all(keys.map((key) => owner.client.call('MEMORY', 'USAGE', key)));
  return { keys: keys.length, bytes: sizes.reduce<number>((sum, size) => sum + Number(size ?? 0), 0) };
};

interface Move {
  readonly source: Member;
  readonly target: Member;
  readonly slot: number;
}

const openSlot = async ({ source, target, slot }: Move): Promise<void> => {
  await target.client.call('CLUSTER', 'SETSLOT', slot, 'IMPORTING', source.id);
  await source.client.call('CLUSTER', 'SETSLOT', slot, 'MIGRATING', target.id);
};

/** As many at once as redis-cli, and as long. */
const keysAtOnce = 10;
const migrateMsMax = 60_000;

const moveKeys = async ({ source, target, slot }: Move, only?: string): Promise<void> => {
  const { host, port } = target.server;
  for (;;) {
    const keys = only === undefined ? await listKeys(source, slot, keysAtOnce) : [only];
    if (keys.length === 0) return;
    await source.client.call('MIGRATE', host, port, '', 0, migrateMsMax, 'KEYS', ...keys);
    if (only !== undefined) return;
  }
};

const giveSlot = ({ target, slot }: Move, { client }: Member): Promise<unknown> =>
  client.call('CLUSTER', 'SETSLOT', slot, 'NODE', target.id);

/** The new owner first, then the old one: a slot without an owner would be served by none. */
const closeSlot = async (move: Move, primaries: readonly Member[]): Promise<void> => {
  for (const member of new Set([move.target, move.source, ...primaries])) await giveSlot(move, member);
};

const listPrimaries = async (members: readonly Member[], viaPort: number): Promise<readonly Member[]> =>
  (await primariesOf(members, viaPort)).map((index) => members[index] as Member);

const startMove = async (members: readonly Member[], slot: number, to: number): Promise<SlotMove> => {
  await agreed(members);
  const source = members[await ownerOf(members, slot)] as Member;
  const move = { source, target: members[to] as Member, slot };
  await openSlot(move);
  return {
    moveKeys: (only) => moveKeys(move, only),
    async leave() {
      await giveSlot(move, move.source);
    },
    async finish() {
      await closeSlot(move, await listPrimaries(members, to));
      await agreed(members);
    },
  };
};

const moveSlots = async (
  members: readonly Member[],
  slots: readonly number[],
  { to, atOnce = 1 }: MoveOptions,
): Promise<void> => {
  await agreed(members);
  const primaries = await listPrimaries(members, to);
  const ranges = await readRanges(members);
  const target = members[to] as Member;
  for (let from = 0; from < slots.length; from += atOnce) {
    const moves = slots.slice(from, from + atOnce).map((slot) => {
      const source = members[findOwner(members, ranges, slot)] as Member;
      return { source, target, slot };
    });
    for (const step of [openSlot, moveKeys, (move: Move) => closeSlot(move, primaries)])
      await Promise.all(moves.map((move) => step(move)));
  }
  await agreed(members);
};

const offsetOf = async ({ client }: Member): Promise<number> =>
  Number(/(?:master|slave)_repl_offset:(\d+)/.exec(await client.info('replication'))?.[1]);

/** By offsets, because WAIT only sees what its own connection wrote. */
const replicated = async (members: readonly Member[]): Promise<void> => {
  for (const [index, primary] of members.slice(0, primaryCount).entries()) {
    const replica = members[index + primaryCount] as Member;
    const written = await offsetOf(primary);
    await until('the replica has it all', async () => (await offsetOf(replica)) >= written);
  }
};

const replicaOf = async (members: readonly Member[], index: number): Promise<number> => {
  const primary = members[index] as Member;
  const lines = (await beliefOf(primary)).split('\n').map((line) => line.split(' '));
  const [id] = lines.find(([, role, of]) => role === 'slave' && of === primary.id) ?? [];
  return members.findIndex((member) => member.id === id);
};

const primariesOf = async (members: readonly Member[], viaPort: number): Promise<readonly number[]> => {
  const lines = (await beliefOf(members[viaPort] as Member)).split('\n').map((line) => line.split(' '));
  const serving = lines.filter(([, role, , , ...slots]) => role === 'master' && slots.length > 0);
  return serving.map(([id]) => members.findIndex((member) => member.id === id));
};

/** What the farthest replica of a primary has received; 0 without one. */
const receivedOf = async ({ client }: Member): Promise<number> => {
  const offsets = [...(await client.info('replication')).matchAll(/state=online,offset=(\d+)/g)];
  return Math.max(0, ...offsets.map(([, offset]) => Number(offset)));
};

const whole = async (members: readonly Member[]): Promise<void> => {
  await until('all are ready', async () => (await Promise.all(members.map(isReady))).every(Boolean));
  await agreed(members);
  const belief = await beliefOf(members[0] as Member);
  for (const index of await primariesOf(members, 0)) {
    const primary = members[index] as Member;
    if (!belief.includes(` slave ${primary.id} `)) continue;
    const written = await offsetOf(primary);
    await until('a replica has it all', async () => (await receivedOf(primary)) >= written);
  }
};

const join = async (members: Member[], options: ClusterOptions): Promise<number> => {
  const [first] = members as [Member];
  const index = members.length;
  const member = await startMember(options, 0);
  members.push(member);
  await first.client.call('CLUSTER', 'MEET', member.server.host, member.server.port, member.busPort);
  await until('all know the new one', async () =>
    (await Promise.all(members.map((one) => knowsAll(one, members)))).every(Boolean),
  );
  await until('the new one serves', () => isReady(member));
  return index;
};

const removeLast = async (members: Member[]): Promise<void> => {
  const gone = members.pop() as Member;
  await Promise.all(members.map(({ client }) => client.call('CLUSTER', 'FORGET', gone.id)));
  gone.client.disconnect();
  await gone.server.dispose();
};

const failOver = async (members: readonly Member[], index: number): Promise<void> => {
  const replica = members[index + primaryCount] as Member;
  await members[index]?.server.kill();
  await replica.client.call('CLUSTER', 'FAILOVER', 'TAKEOVER');
  await until('the replica has become a primary', async () =>
    (await replica.client.info('replication')).includes('role:master'),
  );
};

const promote = async (members: readonly Member[], index: number): Promise<void> => {
  const member = members[index] as Member;
  await until('the replica has been promoted', async () => {
    if ((await primariesOf(members, index)).includes(index)) return true;
    await member.client.call('CLUSTER', 'FAILOVER').catch(() => undefined);
    return false;
  });
  await agreed(members);
};

const dispose = async (members: readonly Member[]): Promise<void> => {
  for (const { client } of members) client.disconnect();
  await Promise.all(members.map(({ server }) => server.dispose()));
};

const toCluster = (members: Member[], options: ClusterOptions) => ({
  /** Addresses of all six. */
  urls: members.map(({ server }) => server.url),
  /** Primaries first, then the replica of each, as they were made. */
  get servers() {
    return members.map(({ server }) => server);
  },
  /** Begins to move one slot to the primary at `to`. */
  startMove: (slot: number, to: number) => startMove(members, slot, to),
  /** Moves one slot with all its keys. All nodes agree on the new owner when it resolves. */
  async moveSlot(slot: number, to: number): Promise<void> {
    const move = await startMove(members, slot, to);
    await move.moveKeys();
    await move.finish();
  },
  /**
   * Moves slots as an operator's resharding does, which does not wait for replicas to learn of each. All
   * nodes agree when it resolves.
   */
  moveSlots: (slots: readonly number[], how: MoveOptions) => moveSlots(members, slots, how),
  /**
   * Resolves when the replica of every primary has all that was written before: a failover then loses
   * nothing.
   */
  replicated: () => replicated(members),
  /** SIGKILL to the primary at `index`, and its replica takes its slots. */
  failOver: (index: number) => failOver(members, index),
  /** Who owns a slot now: an index of `servers`. */
  ownerOf: (slot: number) => ownerOf(members, slot),
  /** The slots that a primary owns, in order. */
  slotsOf: (index: number) => slotsOf(members, index),
  /** The slot of a key. */
  slotOf: async (key: string) => Number(await members[0]?.client.call('CLUSTER', 'KEYSLOT', key)),
  /** How many keys a slot has, and how many bytes of memory they take. */
  sizeOf: (slot: number) => sizeOf(members, slot),
  /** The replica of this primary: an index of `servers`. */
  replicaOf: (index: number) => replicaOf(members, index),
  /** Makes this replica the primary, losing nothing; nothing when it is one. */
  promote: (index: number) => promote(members, index),
  /** Indexes of `servers` that are primaries with slots, as seen by the server at `asked`. */
  primaries: (viaPort: number) => primariesOf(members, viaPort),
  /** Resolves when all running servers agree, and replicas have received everything. */
  whole: () => whole(members),
  /** One more primary, empty and without slots. Its index in `servers`. */
  join: () => join(members, options),
  /** Removes the server that joined last, which owns no slot any more. */
  removeLast: () => removeLast(members),
  dispose: () => dispose(members),
});
export type RedisCluster = ReturnType<typeof toCluster>;

/** Starts and forms it; ready for writes when it resolves. */
export const startRedisCluster = async (options: ClusterOptions = {}): Promise<RedisCluster> => {
  const members = await Promise.all(
    Array.from({ length: primaryCount * 2 }, (_, index) => startMember(options, index)),
  );
  try {
    await form(members);
  } catch (failure) {
    await dispose(members);
    throw failure;
  }
  return toCluster(members, options);
};
