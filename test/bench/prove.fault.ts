/**
 * The judge of `prove` names each lie that a proxy between it and a real server plants, and finds none where
 * there is none. Time limit: 900 s.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { proofKinds } from '../../bench/prove/lies.ts';
import { startOwn } from '../../bench/prove/own-servers.ts';
import { prove } from '../../bench/prove/prove.ts';
import type { Proof } from '../../bench/prove/verdict.ts';
import type { Holder } from '../../bench/scenarios/directory.ts';
import { createRandom } from '../../bench/shared/random.ts';
import { type LiePlan, openLyingProxy } from './lying-proxy.ts';
import { plantedLies } from './planted-lies.ts';

const test = suite('prove');
const botsEach = 3;
const loadMs = 4_000;
const sampleMs = 75_000;

/** Each lie is about bots and users of its own: so each meets a directory without a past. */
const server = await startOwn({ bots: botsEach * (plantedLies.length + 1), users: 200, nodes: 0 });
const { directory } = server;
test.after(() => server.close());

let used = 0;
const takeBots = (): readonly Holder[] => {
  used += botsEach;
  return directory.bots.slice(used - botsEach, used);
};

const proveThrough = async (bots: readonly Holder[], plan: LiePlan, historyMs = 0): Promise<Proof> => {
  const proxy = await openLyingProxy(server.urls[0] as string, plan);
  try {
    return await prove({
      urls: [proxy.url],
      directory: { bots, users: directory.users },
      bots: bots.length,
      isDirect: true,
      clocksMs: 5,
      waitMs: server.waitMs,
      firstId: used * 1_000_000,
      random: createRandom(used),
      rate: 100,
      historyMs,
      meanwhile: () => sleep(loadMs),
    });
  } finally {
    await proxy.close();
  }
};

test('an honest proxy is no liar', async () => {
  const { lies, figures } = await proveThrough(takeBots(), {});

  assert.equal(lies, []);
  for (const kind of ['posts', 'shards', 'clicks', 'votes', 'feed', 'webhooks', 'redeems'] as const)
    assert.ok((figures[kind]?.acknowledged ?? 0) > 5, kind);
  // What has no answer may hide a lie.
  for (const kind of proofKinds) assert.is(figures[kind]?.unknown ?? 0, 0, kind);
});

for (const { title, kind, name, plan, needsSample = false } of plantedLies) {
  test(title, async () => {
    const bots = takeBots();

    const { lies } = await proveThrough(bots, plan(bots), needsSample ? sampleMs : 0);

    const named = lies.filter((lie) => lie.kind === kind && lie.name === name);
    assert.ok(named.length > 0, `not named; found: ${JSON.stringify(lies.slice(0, 5))}`);
  });
}

test.run();
