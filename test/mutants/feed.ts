/**
 * Guards of the feed: what clients may get, when they get nothing, and who may connect.
 */
import type { Mutant } from './mutant.ts';

const feed = 'test/http/feed/feed.test.ts';
const quiet = 'test/http/feed/quiet.test.ts';
const full = 'test/http/feed/full-sockets.test.ts';
const limits = 'test/http/feed/limits.test.ts';
const ended = 'test/http/feed/ended-clients.test.ts';
const watches = 'test/engine/actors/watches.test.ts';

export const feedMutants: readonly Mutant[] = [
  {
    name: 'totals for a full socket',
    file: 'http/feed/delivery.ts',
    find: `if (client.isFull) state.counts.conflated += 1;\n    else deliverTotals`,
    replace: `deliverTotals`,
    killers: [full],
    why: 'a client that reads nothing would cost memory without a bound',
  },
  {
    name: 'votes for a full socket',
    file: 'http/feed/delivery.ts',
    find: `subscription.number < votes.head && !client.isFull`,
    replace: `subscription.number < votes.head`,
    killers: [full],
    why: 'a client that reads nothing would cost memory without a bound',
  },
  {
    name: 'numbers without a row',
    file: 'http/feed/delivery.ts',
    find: `      if (number > subscription.number + 1) sendMissing(state, subscription, number - 1);\n`,
    replace: '',
    killers: [feed],
    why: 'a client would get a wrong number without a notice',
  },
  {
    name: 'a client far behind',
    file: 'http/feed/delivery.ts',
    find: `votes.head - subscription.number > feedLimits.votesBehindMax`,
    replace: `false`,
    killers: [feed],
    why: 'one client could make the node read a whole log',
  },
  {
    name: 'a cursor of another epoch on the feed',
    file: 'http/feed/subscriptions.ts',
    find: `at.epoch === epoch && at.number <= head`,
    replace: `at.number <= head`,
    killers: [feed],
    why: 'a client would miss votes without a notice',
  },
  {
    name: 'votes of owners on the feed',
    file: 'http/feed/subscriptions.ts',
    find: `wantsVotes && !state.votesArePublic`,
    replace: `wantsVotes && state.votesArePublic`,
    killers: [limits, feed],
    why: 'VOTE_LOG=owner would close nothing',
  },
  {
    name: 'a target that is being read',
    file: 'http/feed/targets.ts',
    find: `target.isDirty || target.reading !== null`,
    replace: `target.isDirty`,
    killers: [full],
    why: 'the second client of a target would be refused',
  },
  {
    name: 'a target that is not listed',
    file: 'http/feed/targets.ts',
    find: `!view.state.facts.listed`,
    replace: `view === null`,
    killers: [feed],
    why: 'the feed would tell that an unlisted entity exists',
  },
  {
    name: 'connections of one address',
    file: 'http/feed/feed.ts',
    find: `if (!addresses.isFull(address)) return;`,
    replace: `if (address !== '') return;`,
    killers: [limits],
    why: 'one client could take all connections of a node',
  },
  {
    name: 'targets without clients',
    file: 'http/feed/targets.ts',
    find: `target.subscriptions.length === 0 && target.idleSinceMs < idleBeforeMs`,
    replace: `target.idleSinceMs < 0`,
    killers: [ended],
    why: 'every entity that was ever followed would stay in memory',
  },
  {
    name: 'a status that ends by age',
    file: 'http/feed/targets.ts',
    find: `    else if (nowMs > target.agesAtMs) touch(state, target);\n`,
    replace: ``,
    killers: [quiet],
    why: 'followers would see a bot online that every reader sees offline',
  },
  {
    name: 'a stream that comes back after one of its targets is gone',
    file: 'http/feed/subscriptions.ts',
    find: `isResumed && isNotFound(error)`,
    replace: `false`,
    killers: [feed],
    why: 'a browser would lose all entities of a stream with one of them, without a way to resume',
  },
  {
    name: 'watches of dropped targets',
    file: 'http/feed/targets.ts',
    find: `  target.watch.close();\n  state.onDropped`,
    replace: `  state.onDropped`,
    killers: [ended],
    why: 'the engine would call for every entity that was ever followed',
  },
  {
    name: 'a target that a request has just found',
    file: 'http/feed/targets.ts',
    find: `  target.idleSinceMs = state.feed.clock.monotonicMs();\n`,
    replace: '',
    killers: [ended],
    why: 'a client could follow a target that was dropped, and would see no change',
  },
  {
    name: 'subscriptions of clients that left',
    file: 'http/feed/feed.ts',
    find: `  open.subscriptions.removeAll(client);\n`,
    replace: '',
    killers: [ended],
    why: 'the node would send to sockets that no longer exist',
  },
  {
    name: 'messages of one WebSocket',
    file: 'http/feed/feed.ts',
    find: `client.frames > feedLimits.framesPerWindow`,
    replace: `client.frames < 0`,
    killers: [feed],
    why: 'one client could keep the node busy',
  },
  {
    name: 'a body of an upgrade',
    file: 'http/server/uws-server.ts',
    find: `headers.chunked || headers.contentLength > 0`,
    replace: `headers.contentLength < -1`,
    killers: [limits],
    why: 'bytes that a proxy takes for a body would be read as messages',
  },
  {
    name: 'changes of this node for watches',
    file: 'engine/turns.ts',
    find: `    registry.watches.notify(address);\n`,
    replace: '',
    killers: [watches, feed],
    why: 'followers would see no change of their own node',
  },
  {
    name: 'changes of other nodes for watches',
    file: 'engine/actors/registry.ts',
    find: `  state.watches.notify(address);\n`,
    replace: '',
    killers: [watches],
    why: 'followers would see no change of other nodes',
  },
  {
    name: 'shards of watched entities',
    file: 'engine/actors/registry.ts',
    find: `  for (const shard of state.watches.listShards()) shards.add(shard);\n`,
    replace: '',
    killers: [watches],
    why: 'changes of an entity without an actor would go unnoticed',
  },
];
