/**
 * Sixteen processes of one bot post their shards through three nodes, which are killed, and change to another
 * number of shards in the middle: the list of shards then shows the newest acknowledged post of each.
 *
 * The posters count upwards, so that their log tells what may be shown. No post is refused (409): a shard
 * count comes into force when all posters use it. Time limit: 300 s.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { suite } from 'uvu';
import { NoAnswer } from '../../../bench/shared/http-client.ts';
import { tokenOf } from '../../support/directory.ts';
import { until } from '../../support/until.ts';
import { faultCase } from '../harness/fault-case.ts';
import { onServers } from '../harness/on-servers.ts';
import { outsider, type Stack } from '../harness/stack.ts';

const test = suite('shards of a bot');

const posters = 16;
const turns = 30;
const shardCounts = [32, 48] as const;
const kills = 3;

/** By shard id, of the last shard count: the newest acknowledged value, and the newest sent one. */
interface PostLog {
  readonly acknowledged: Map<number, number>;
  readonly sent: Map<number, number>;
  posts: number;
}

const headers = { 'Bot-Auth': tokenOf('bot', outsider), 'Content-Type': 'application/json' };

const post = async (
  stack: Stack,
  log: PostLog,
  { shardCount, poster, value }: { shardCount: number; poster: number; value: number },
): Promise<void> => {
  const ids = Array.from({ length: shardCount }, (_, id) => id).filter((id) => id % posters === poster);
  const body = JSON.stringify({ shard_count: shardCount, shards: ids.map((id) => ({ id, servers: value })) });
  const isLast = shardCount === shardCounts[1];
  log.posts += 1;
  if (isLast) for (const id of ids) log.sent.set(id, value);
  const { url } = stack.random.pick(stack.alive()).node;
  const answer = await stack.client
    .ask(`${url}/bots/stats/shards`, { method: 'POST', headers, body })
    .catch((error: unknown) => {
      if (error instanceof NoAnswer) return null;
      throw error;
    });
  if (answer?.status === 200) {
    if (isLast) for (const id of ids) log.acknowledged.set(id, value);
  } else if (answer !== null && answer.status !== 503) throw new Error(`${answer.status}: ${answer.text}`);
};

const runPoster = async (stack: Stack, log: PostLog, poster: number): Promise<void> => {
  const changesAt = turns / 2 + stack.random.below(5);
  for (let turn = 1; turn <= turns; turn++) {
    const shardCount = shardCounts[turn < changesAt ? 0 : 1];
    await post(stack, log, { shardCount, poster, value: turn });
    await sleep(50 + stack.random.below(200));
  }
};

const killNodes = async (stack: Stack): Promise<void> => {
  for (let time = 0; time < kills; time++) {
    await sleep(700);
    await stack.kill(stack.random.pick(stack.alive()));
    await stack.open();
  }
};

interface ShownShards {
  readonly shard_count: number;
  readonly shards: readonly { readonly id: number; readonly servers: number }[];
}

const readAll = async (stack: Stack): Promise<readonly ShownShards[]> =>
  Promise.all(
    stack.alive().map(async ({ node }) => {
      const { text } = await stack.client.ask(`${node.url}/bots/${outsider}/shards`);
      return JSON.parse(text) as ShownShards;
    }),
  );

/** What is wrong with the shards that one node shows, and with the totals of the bot. */
const judge = (log: PostLog, shown: ShownShards, totals: { servers: number; shards: number }): string[] => {
  const wrong: string[] = [];
  if (shown.shard_count !== shardCounts[1]) wrong.push(`${shown.shard_count} shards are in force`);
  if (shown.shards.length !== shardCounts[1]) wrong.push(`${shown.shards.length} shards are listed`);
  for (const { id, servers } of shown.shards) {
    const least = log.acknowledged.get(id) ?? 0;
    const most = log.sent.get(id) ?? 0;
    if (servers < least || servers > most)
      wrong.push(`shard ${id} shows ${servers}, not ${least} to ${most}`);
  }
  const sum = shown.shards.reduce((total, { servers }) => total + servers, 0);
  if (totals.servers !== sum || totals.shards !== shown.shard_count)
    wrong.push(`the bot shows ${totals.servers} servers of ${totals.shards} shards, its shards have ${sum}`);
  return wrong;
};

const readTotals = async (stack: Stack): Promise<{ servers: number; shards: number }> => {
  const { node } = stack.random.pick(stack.alive());
  return JSON.parse((await stack.client.ask(`${node.url}/bots/${outsider}`)).text);
};

faultCase(test, {
  title: 'shards posted through dying nodes add up to what was acknowledged',
  name: 'bot shards, nodes killed',
  run: ({ seed }) =>
    onServers({ seed, nodes: 3 }, async ({ stack }) => {
      const log: PostLog = { acknowledged: new Map(), sent: new Map(), posts: 0 };
      const all = Array.from({ length: posters }, (_, poster) => runPoster(stack, log, poster));
      await Promise.all([...all, killNodes(stack)]);
      let wrong: readonly string[] = ['nothing was read'];
      await until('all nodes show the same shards', async () => {
        const shown = await readAll(stack);
        const totals = await readTotals(stack);
        wrong = shown.flatMap((one) => judge(log, one, totals));
        return wrong.length === 0;
      }).catch((error: Error) => {
        throw new Error(`${error.message}: ${wrong.join('; ')}`);
      });
      return { posts: log.posts, kills };
    }),
});

test.run();
