/**
 * Faults of the flush of several nodes: one of them paused in the middle while others go on under a newer
 * generation, rows that SQL can never take, and more waiting votes than the limit.
 *
 * Everything is done to real servers and real nodes. Time limit: 900 s.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Answer } from '../../../bench/shared/http-client.ts';
import { StorageError } from '../../../engine/errors.ts';
import { renewGenerations } from '../../../engine/flush/generations.ts';
import { listAllShards, toAddress } from '../../../engine/ids.ts';
import { limits } from '../../../engine/limits.ts';
import { toTag } from '../../../storage/hot/redis/tags.ts';
import { createLedger } from '../../../storage/ledger/ledger.ts';
import { pluck } from '../../support/pluck.ts';
import { shardOf } from '../../support/refs.ts';
import { until } from '../../support/until.ts';
import { faultCase } from '../harness/fault-case.ts';
import type { Figures } from '../harness/figures.ts';
import { onServers, type ServersWorld as World } from '../harness/on-servers.ts';
import { type Life, outsider, type Stack } from '../harness/stack.ts';
import { acknowledged, timeSilence, underLoad, voteForOutsider } from '../harness/waits.ts';

const test = suite('flushes of several nodes');

interface FlushFigures extends Figures {
  readonly silenceSecondsMax: number;
}

/** Resolves when the fault is over, to what it found wrong. */
type Fault = (world: World) => Promise<readonly string[]>;

/** Some nodes under load, the last of them behind the proxy of Postgres; judges at the end. */
const runFlushFault = (
  { nodes, seed, rounds = 1 }: { readonly nodes: number; readonly seed: number; readonly rounds?: number },
  fault: Fault,
): Promise<FlushFigures> =>
  onServers({ seed, nodes: nodes - 1 }, async (world) => {
    const { stack, slowDatabaseUrl } = world;
    await stack.open({ settings: { DATABASE_URL: slowDatabaseUrl } });
    let wrong: readonly string[] = [];
    const silenceSecondsMax = await underLoad(stack, 12, async () => {
      await acknowledged(stack.log, 200);
      return timeSilence(stack, async () => {
        wrong = await fault(world);
        await acknowledged(stack.log, 100);
      });
    });
    return { ...(await stack.judge({ rounds, wrong })), silenceSecondsMax };
  });

/* ------------------------------------------------- late, doubled, reordered */

interface Hold {
  /** Stopped as a process, or its way to SQL made slow. */
  readonly how: 'stop' | 'delay';
  readonly ms: number;
}

/**
 * Holds the last node's flushes, takes new generations meanwhile, lets go. Longer than 8 s, others take over
 * its shards, so that both flush the same.
 */
const heldFlusher =
  (holds: readonly Hold[]): Fault =>
  async (world) => {
    const watch = watchTotals(world.stack);
    try {
      for (const hold of holds) await holdOnce(world, hold);
      return watch.fell;
    } finally {
      await watch.stop();
    }
  };

const holdOnce = async ({ stack, postgresProxy: proxy }: World, { how, ms }: Hold): Promise<void> => {
  const { node } = stack.alive().at(-1) as Life;
  const begin = (): void => (how === 'stop' ? node.signal('SIGSTOP') : proxy.delay(ms));
  const end = (): void => (how === 'stop' ? node.signal('SIGCONT') : proxy.delay(0));
  await sleep(stack.random.below(200));
  begin();
  try {
    await sleep(ms / 3);
    await newGeneration(stack);
    await sleep(ms / 3);
    await newGeneration(stack);
    await sleep(ms / 3);
  } finally {
    end();
  }
  await acknowledged(stack.log, 100);
};

/** As after a loss of data: SQL first, then the store. Flushes of the old one are outvoted. */
const newGeneration = async ({ stores }: Stack): Promise<void> => {
  // A node that was stopped in the middle of a transaction has its rows locked until it goes on.
  await renewGenerations(stores.hot, createLedger(stores.sql), listAllShards()).catch((error: unknown) => {
    if (!(error instanceof StorageError && error.reason === 'busy')) throw error;
  });
};

/** Reads all totals again and again; what is older than before is noted (I10). */
const watchTotals = (stack: Stack): { readonly fell: readonly string[]; stop(): Promise<void> } => {
  const fell: string[] = [];
  const newest = new Map<number, readonly [number, number]>();
  let stopped = false;
  const look = async (): Promise<void> => {
    const rows = await stack.stores.sql<{ incarnation: number; generation: number; version: number }[]>`
      select incarnation, generation, version from totals`;
    for (const { incarnation, generation, version } of rows) {
      const [beforeGeneration, beforeVersion] = newest.get(incarnation) ?? [0, 0];
      if (generation < beforeGeneration || (generation === beforeGeneration && version < beforeVersion))
        fell.push(
          `totals ${incarnation}: ${generation}.${version} after ${beforeGeneration}.${beforeVersion}`,
        );
      newest.set(incarnation, [generation, version]);
    }
  };
  const looking = (async () => {
    while (!stopped) {
      await look();
      await sleep(20);
    }
  })();
  return {
    fell,
    stop: () => {
      stopped = true;
      return looking;
    },
  };
};

/* ------------------------------------------------------------ poisoned rows */

/** Votes that no row can be made of, put into the store itself, and totals that a constraint forbids. */
const poisonedRows: Fault = async (world) => {
  const { stack, admin } = world;
  const { sql } = stack.stores;
  const { stem, ref } = await outboxOf(stack);
  const row = (number: number, voteNumber: number, user: string): string =>
    [tagOf(number), toAddress('bot', outsider), ref.incarnation, 1, Date.now(), voteNumber, user].join('\0');
  const forbidden = sql.unsafe(`invite_clicks < 3 or incarnation <> ${ref.incarnation}`);
  await sql`alter table totals add constraint poisoned check (${forbidden}) not valid`;
  await admin.zadd(`${stem}o`, 0, row(1, 99_999, '5'), 0, row(2, 0, 'a\0b'), 0, row(3, 0, '5'));
  for (let count = 0; count < 3; count++) await invite(stack);
  await until('three dead letters', async () => {
    const [letters] = await sql<{ count: number }[]>`select count(*)::int as count from dead_letters`;
    return (letters?.count ?? 0) >= 3;
  });
  await acknowledged(stack.log, 100);
  const sources = await sql<{ source: string }[]>`
    select distinct source from dead_letters order by source`;
  assert.equal(pluck(sources, 'source'), ['entity', 'vote']);
  const [whole] = await sql`select from votes where itag = ${tagOf(3)}`;
  assert.ok(whole, 'the good one among them has its row');
  assert.ok((await countDeadLetters(stack)) >= 3, 'the metrics count them');
  await sql`alter table totals drop constraint poisoned`;
  // A flush that had met the constraint may still write its letters.
  await until('no more letters', async () => {
    const { count } = await sql`delete from dead_letters`;
    await sleep(1_000);
    return count === 0;
  });
  return [];
};

const tagOf = (number: number): string => `00000000-0000-7000-8000-${number.toString(16).padStart(12, '0')}`;

const outboxOf = async (stack: Stack) => {
  const { node } = stack.alive()[0] as Life;
  // Activates it, so that the store knows it.
  await stack.client.ask(`${node.url}/bots/${outsider}?target=page`);
  let found = await stack.stores.hot.load([{ kind: 'bot', id: outsider }]);
  await until('the bot is in the store', async () => {
    found = await stack.stores.hot.load([{ kind: 'bot', id: outsider }]);
    return found[0]?.outcome === 'found';
  });
  const [reply] = found;
  if (reply?.outcome !== 'found') throw new Error('unreachable');
  return { stem: `{s${toTag(shardOf('bot', outsider))}}:`, ref: reply.ref };
};

const invite = ({ client, alive }: Stack): Promise<Answer> =>
  client.ask(`${(alive()[0] as Life).node.url}/bots/${outsider}?target=invite`);

const countDeadLetters = async ({ alive }: Stack): Promise<number> => {
  let count = 0;
  for (const { node } of alive()) {
    const text = await (await fetch(`${node.adminUrl}/metrics`)).text();
    count += Number(/^rollcall_dead_letters_total (\d+)/m.exec(text)?.[1] ?? 0);
  }
  return count;
};

/* -------------------------------------------------------------- high mark */

const fillStep = 2_000;
const fillScript = `
for number = tonumber(ARGV[1]), tonumber(ARGV[2]) do
  local tag = string.format('00000000-0000-7000-8000-%012x', number)
  local vote = { tag, ARGV[3], ARGV[4], '1', ARGV[5], '0', '9' .. number }
  redis.call('ZADD', KEYS[1], 0, table.concat(vote, '\\0'))
end`;

/** Postgres away, and as many votes waiting as may wait: votes are refused, all else is counted. */
const outboxFull: Fault = async (world) => {
  const { stack, postgres, admin } = world;
  const { stem, ref } = await outboxOf(stack);
  await postgres.stop('fast');
  try {
    for (let from = 0; from < limits.outboxVotesHigh; from += fillStep) {
      const args = [from, from + fillStep - 1, toAddress('bot', outsider), ref.incarnation, Date.now()];
      await admin.eval(fillScript, 1, `${stem}o`, ...args);
    }
    for (const life of stack.alive()) {
      await until('a node refuses votes', async () => refusedAsFull(await voteAt(stack, life)), 30_000);
    }
    // Clicks and posts are; votes are not among what is acknowledged now.
    await acknowledged(stack.log, 200);
  } finally {
    await postgres.start();
  }
  for (const life of stack.alive()) {
    await until('votes are accepted again', async () => !refusedAsFull(await voteAt(stack, life)), 300_000);
  }
  // The rest of what was made up need not be carried to SQL, nor looked at by the judge.
  await admin.zremrangebylex(`${stem}o`, `[${tagOf(0)}`, `(${tagOf(limits.outboxVotesHigh)}`);
  await stack.stores.sql.begin(async (transaction) => {
    await transaction`set local statement_timeout = '120s'`;
    await transaction`delete from votes where incarnation = ${ref.incarnation} and author like '9%'`;
  });
  return [];
};

const voteAt = (stack: Stack, life: Life): Promise<Answer> =>
  voteForOutsider(stack, life, { user: stack.random.pick(stack.directory.users) });

const refusedAsFull = ({ status, text, headers }: Answer): boolean => {
  if (status !== 503 || !text.includes('"code":"overloaded"')) return false;
  assert.match(text, '"outcome":"not_applied"');
  assert.is(headers['retry-after'], '30');
  return true;
};

faultCase(test, {
  title: 'paused and late over new generations: no total falls in SQL, votes have their rows once',
  name: 'flusher of one of three nodes held',
  run: ({ seed }) =>
    runFlushFault(
      { nodes: 3, seed, rounds: 4 },
      heldFlusher([
        { how: 'stop', ms: 2_400 },
        { how: 'delay', ms: 2_400 },
        { how: 'stop', ms: 10_000 },
        { how: 'delay', ms: 10_000 },
      ]),
    ),
});

faultCase(test, {
  title: 'rows that SQL can never take become dead letters, everything else is flushed',
  name: 'poisoned rows',
  run: ({ seed }) => runFlushFault({ nodes: 2, seed }, poisonedRows),
});

faultCase(test, {
  title: 'a million votes waiting: votes are refused, all else is counted, votes go on after',
  name: 'outbox full',
  once: true,
  run: ({ seed }) => runFlushFault({ nodes: 2, seed }, outboxFull),
});

test.run();
