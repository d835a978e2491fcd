/**
 * A million votes of one listing: readers who walk its vote log while votes arrive meet every vote once. And
 * what a million votes and a million deliveries take in Postgres. Time limit: 900 s.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createPartitions } from '../../../storage/ledger/partitions.ts';
import type { Sql } from '../../../storage/sql/client.ts';
import { until } from '../../support/until.ts';
import { faultCase } from '../harness/fault-case.ts';
import { onServers } from '../harness/on-servers.ts';
import { type Life, outsider, type Stack } from '../harness/stack.ts';
import { voteForOutsider } from '../harness/waits.ts';

const test = suite('a vote log of a million rows');
const million = 1_000_000;
const dayMs = 86_400_000;
/** A flush that takes long makes a reader ask again. */
const triesMax = 20;
const pageRows = 100;
const walkers = 4;

/** Numbered rows of the two months before now, as flushes write them; one user never votes twice at once. */
const insertVotes = async (sql: Sql): Promise<number> => {
  const [row] = await sql<{ incarnation: number }[]>`
    select incarnation from totals where kind = 'bot' and entity_id = ${outsider}`;
  const incarnation = row?.incarnation ?? 0;
  const partitions = createPartitions(sql);
  for (const days of [60, 30, 0]) await partitions.prepare([{ atMs: Date.now() - days * dayMs }]);
  await sql.begin(async (transaction) => {
    await transaction`set local statement_timeout = '300s'`;
    await transaction`
      insert into votes (itag, created_at, incarnation, target_type, target_id, author, upvote, vote_num,
        log_number)
      select ('018f3b7e-0000-7000-8000-' || lpad(to_hex(number), 12, '0'))::uuid,
        now() - (${million}::bigint - number) * interval '5 seconds', ${incarnation}, 'bot', ${outsider},
        (700000000000000000 + hashint4(number::int))::text, true, 0, number
      from generate_series(1, ${million}::bigint) as number`;
    await transaction`
      update totals set votes_logged = ${million} where incarnation = ${incarnation}`;
  });
  await sql`analyze votes`;
  return incarnation;
};

interface LogPage {
  readonly results: readonly { readonly number: number; readonly itag: string }[];
  readonly next: string;
  readonly head: string;
  readonly oldest: string;
}

let requests = 0;
/** From many addresses: each may read so many pages a second. */
const readPage = async ({ client }: Stack, { node }: Life, query: string): Promise<LogPage> => {
  for (let tries = 1; ; tries++) {
    requests += 1;
    const address = `10.${requests % 200}.${Math.floor(requests / 200) % 200}.1`;
    const { status, text } = await client.ask(`${node.url}/bots/${outsider}/votes/log?${query}`, {
      headers: { 'x-forwarded-for': address },
    });
    if (status === 200) return JSON.parse(text);
    assert.ok(status === 503 && tries < triesMax, `${query}: ${status} ${text}`);
  }
};

interface Walk {
  readonly from: string;
  /** A number; the last walker goes on to the end of the log. */
  readonly to: number;
}

const walk = async (
  stack: Stack,
  life: Life,
  { from, to, seen }: Walk & { readonly seen: Map<number, string> },
) => {
  let after = from;
  for (;;) {
    const page = await readPage(stack, life, `after=${after}&limit=${pageRows}`);
    for (const { number, itag } of page.results) {
      if (number > to) return;
      assert.not(seen.has(number), `${number} was seen before`);
      seen.set(number, itag);
    }
    if (page.results.length === 0) return;
    after = page.next;
  }
};

/** Each user votes once, until the readers are done. */
const voteOn = async (stack: Stack, life: Life, isOver: () => boolean): Promise<number> => {
  let votes = 0;
  for (const user of stack.directory.users) {
    if (isOver()) break;
    assert.is((await voteForOutsider(stack, life, { user })).status, 204);
    votes += 1;
    const before = requests;
    await until('some more pages', () => isOver() || requests >= before + 50, 60_000);
  }
  return votes;
};

faultCase(test, {
  title: 'readers that walk a million votes while others arrive meet every vote once',
  name: 'a walk of the vote log',
  once: true,
  run: ({ seed }) =>
    onServers({ seed, nodes: 1 }, async ({ stack }) => {
      const [life] = stack.alive() as [Life];
      const { sql } = stack.stores;
      // So that the hot store knows the bot before it has a million voters.
      await readPage(stack, life, '');
      const incarnation = await insertVotes(sql);
      const { oldest } = await readPage(stack, life, '');
      const epoch = oldest.slice(0, oldest.lastIndexOf('.'));
      const seen = new Map<number, string>();
      const fromMs = performance.now();
      let isOver = false;
      const voting = voteOn(stack, life, () => isOver);
      const share = million / walkers;
      const walks = Array.from({ length: walkers }, (_, index) => {
        const to = index === walkers - 1 ? Number.POSITIVE_INFINITY : (index + 1) * share;
        return walk(stack, life, { from: `${epoch}.${index * share}`, to, seen });
      });
      await Promise.all(walks).finally(() => {
        isOver = true;
      });
      const seconds = (performance.now() - fromMs) / 1_000;
      const votes = await voting;
      assert.ok(votes > 10, `${votes} votes arrived meanwhile`);
      // What came after the last page.
      await walk(stack, life, { from: `${epoch}.${seen.size}`, to: Number.POSITIVE_INFINITY, seen });
      const rows = await sql<{ number: number; itag: string }[]>`
        select log_number as number, itag from votes where incarnation = ${incarnation}`;
      // At a weekend a request is two votes.
      assert.ok(rows.length >= million + votes, `${rows.length} rows`);
      assert.is(seen.size, rows.length);
      assert.equal(
        rows.filter(({ number, itag }) => seen.get(number) !== itag),
        [],
        'each number is of the vote that SQL has',
      );
      return { votes, rows: seen.size, requests, seconds };
    }),
});

/** The table, its partitions and all indexes. */
const readBytes = async (sql: Sql, table: string): Promise<number> => {
  const [row] = await sql<{ bytes: number }[]>`
    select sum(pg_total_relation_size(relid))::bigint as bytes from (
      select ${table}::regclass as relid union select relid from pg_partition_tree(${table}::regclass)
    ) as tables`;
  return row?.bytes ?? 0;
};

const deliverySteps = 10;

/** As senders leave them: written, delivered, and vacuumed now and then. */
const insertDeliveries = async (sql: Sql): Promise<void> => {
  const rows = million / deliverySteps;
  const attempt = {
    at: new Date().toISOString(),
    status: 204,
    milliseconds: 38,
    error: '',
    detail: '',
    response: '',
  };
  for (let step = 0; step < deliverySteps; step++) {
    await sql`
      insert into webhook_deliveries (endpoint_id, log_number, kind, weight, votes)
      select '00000000-0000-7000-8000-000000000001', number, 1, 1, number
      from generate_series(${step * rows + 1}::bigint, ${(step + 1) * rows}::bigint) as number`;
    await sql`
      update webhook_deliveries set state = 1, tries = 1, attempts = ${JSON.stringify([attempt])}::text::jsonb
      where state = 0`;
    await sql`vacuum webhook_deliveries`;
  }
};

faultCase(test, {
  title: 'a million votes take less than 600 MB of Postgres, a million deliveries less than 500 MB',
  name: 'growth of votes and deliveries',
  once: true,
  run: ({ seed }) =>
    onServers({ seed, nodes: 0 }, async ({ stack }) => {
      const { sql } = stack.stores;
      const before = await readBytes(sql, 'votes');
      await insertVotes(sql);
      const votesMegabytes = ((await readBytes(sql, 'votes')) - before) / 1e6;
      await insertDeliveries(sql);
      const deliveriesMegabytes = (await readBytes(sql, 'webhook_deliveries')) / 1e6;
      assert.ok(votesMegabytes < 600, `${votesMegabytes} MB`);
      assert.ok(deliveriesMegabytes < 500, `${deliveriesMegabytes} MB`);
      return { votesMegabytes, deliveriesMegabytes };
    }),
});

test.run();
