/**
 * The order in which a node stops.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createStop, type Stoppable } from '../../ops/stop.ts';

const test = suite('the order of a stop');
/** The timers of a node keep no process alive. */
const alive = setInterval(() => {}, 1_000);
test.after(() => clearInterval(alive));

/** Stops a node that does nothing; resolves to the names of what was called. */
const listCalls = async (shared: boolean): Promise<readonly string[]> => {
  const calls: string[] = [];
  const note = (name: string) => async () => void calls.push(name);
  const facade = (name: string) => ({ startLeaving: note('serve on'), drain: note(`${name} drains`) });
  const parts = {
    state: { draining: false },
    config: { leaveMs: 50, drainMs: 50 },
    loss: { reason: '' },
    facade: facade('public'),
    admin: facade('private'),
    voteLogWaiters: { close: () => {} },
    feed: { leave: note('feed') },
    cancelTimers: () => {},
    jobs: { stop: note('jobs') },
    webhooks: { close: note('webhooks') },
    engine: { drain: async () => 0 },
    membership: { leave: note('membership') },
    clusterContext: { close: note('cluster') },
    stores: { shared, close: note('stores') },
  };
  await createStop(parts as unknown as Stoppable)();
  return calls;
};

test('clients of the feed are sent away once other nodes have taken over', async () => {
  assert.equal((await listCalls(true)).slice(0, 3), ['serve on', 'feed', 'public drains']);
});

test('a node alone leaves at once', async () => {
  assert.equal((await listCalls(false)).slice(0, 2), ['feed', 'public drains']);
});

test.run();
