/**
 * 10,000 followers of the feed whose connections all end come back at once, as after a network's fault: no
 * other request gets a 5xx. Time limit: 600 s.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type ServerProcess, startServer } from '../../../bench/servers/process.ts';
import { createClient, NoAnswer } from '../../../bench/shared/http-client.ts';
import { tokenOf } from '../../support/directory.ts';
import { startNode } from '../../support/node-process.ts';
import { until } from '../../support/until.ts';
import { settings } from '../harness/embedded-run.ts';
import { printFigures } from '../harness/figures.ts';
import { useTemplate } from '../harness/plans.ts';

const test = suite('a storm of followers');
const template = useTemplate(test);
const connections = 10_000;
const requestsAtOnce = 8;

const startFollowers = (url: string, bots: readonly string[]): Promise<ServerProcess> =>
  startServer({
    file: '../programs/feed-followers.ts',
    settings: {
      COUNT: String(connections),
      TARGETS: String(bots.length),
      FIRST_ID: bots[0] as string,
      CHANNELS: 'totals,votes',
      FEED_URL: url,
    },
  });

const allOpen = async ({ url }: ServerProcess): Promise<boolean> => {
  const { open } = (await (await fetch(url)).json()) as { readonly open: number };
  return open === connections;
};

/** Posts, pages, lists and votes without a pause, until stopped. Resolves to how often each status came. */
const startRequests = (
  url: string,
  { bots, users }: { bots: readonly string[]; users: readonly string[] },
) => {
  const client = createClient(requestsAtOnce);
  const statuses = new Map<number, number>();
  let stopped = false;
  let next = 0;
  const askOne = (): Promise<{ readonly status: number }> => {
    const number = next++;
    const bot = bots[number % bots.length] as string;
    const user = users[number % users.length] as string;
    const requests = [
      () =>
        client.ask(`${url}/bots/stats`, {
          method: 'POST',
          headers: { 'Bot-Auth': tokenOf('bot', bot) },
          body: `{"servers":${number}}`,
        }),
      () => client.ask(`${url}/bots/${bot}?target=page`),
      () => client.ask(`${url}/bots/@index`),
      () =>
        client.ask(`${url}/users/${user}/bots/${bot}/votes?upvote=true`, {
          method: 'PUT',
          headers: { 'User-Auth': tokenOf('user', user) },
        }),
    ];
    return (requests[number % requests.length] as () => Promise<{ readonly status: number }>)();
  };
  const run = async (): Promise<void> => {
    while (!stopped) {
      const { status } = await askOne().catch((error: unknown) => {
        if (error instanceof NoAnswer) return { status: 599 };
        throw error;
      });
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
  };
  const runs = Array.from({ length: requestsAtOnce }, run);
  return async (): Promise<ReadonlyMap<number, number>> => {
    stopped = true;
    await Promise.all(runs);
    client.close();
    return statuses;
  };
};

test('10,000 followers that come back at once: no other request gets a 5xx', async () => {
  const { dataDir, directory } = template.plan(1);
  const node = await startNode({ dataDir, settings });
  let followers = await startFollowers(node.url, directory.bots);
  try {
    await until('all follow', () => allOpen(followers), 120_000);
    const stop = startRequests(node.url, directory);
    await sleep(1_000);
    followers.child.kill('SIGKILL');
    const fromMs = performance.now();
    followers = await startFollowers(node.url, directory.bots);
    await until('all are back', () => allOpen(followers), 120_000);
    const seconds = (performance.now() - fromMs) / 1_000;
    const statuses = [...(await stop())].sort(([one], [other]) => one - other);

    printFigures('a storm of followers', {
      connections,
      backAfterSeconds: seconds,
      requests: statuses.reduce((sum, [, count]) => sum + count, 0),
    });
    assert.equal(
      statuses.filter(([status]) => status >= 500),
      [],
    );
    assert.ok(statuses.some(([status, count]) => status === 200 && count > 100));
  } finally {
    followers.child.kill('SIGKILL');
    await node.stop();
  }
});

test.run();
