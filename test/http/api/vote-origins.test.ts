/**
 * Where votes come from, from the request to SQL: what is kept, and that no address is, anywhere.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { addBot, addUser } from '../../storage/catalogue/directory.ts';
import { until } from '../../support/until.ts';
import { openWorld, type World } from './world.ts';

const test = suite('origins of votes');
const addresses = ['203.0.113.77', '203.0.113.78', '2001:db8:77:1::5', '2001:db8:77:1::6'];
const worlds: World[] = [];
test.after(async () => {
  for (const world of worlds) await world.close();
});

const open = async (options: Parameters<typeof openWorld>[0] = {}): Promise<World> => {
  const world = await openWorld({ flushIntervalMs: 50, ...options });
  worlds.push(world);
  await addUser(world.sql, 'robin');
  await addBot(world.sql, 'bot1');
  for (const index of addresses.keys()) await addUser(world.sql, `user${index}`);
  return world;
};

const voteFrom = async ({ ask, token }: World, [user, address]: readonly [string, string]): Promise<void> => {
  const headers = { 'x-forwarded-for': address, 'user-agent': `Browser of ${user}` };
  const options = { token: await token('user', user), headers };
  assert.is((await ask('PUT', `/users/${user}/bots/bot1/votes?upvote=true`, options)).status, 204);
};
const countVotes = async ({ sql }: World): Promise<number> =>
  (await sql<{ votes: number }[]>`select count(*)::int as votes from votes`)[0]?.votes ?? 0;
const voteFromAll = async (world: World): Promise<void> => {
  for (const [index, address] of addresses.entries()) await voteFrom(world, [`user${index}`, address]);
  await until('all votes are in SQL', async () => (await countVotes(world)) === addresses.length);
};

interface Origin {
  readonly author: string;
  readonly address: string;
  readonly network: string;
  readonly agent: number;
  readonly age: number;
}

test('a vote leaves hashes of its address, network and program, and the age of its account', async () => {
  const world = await open();
  const nowMs = world.clock.nowMs();
  for (const [user, seenMs] of [
    ['user0', nowMs - 86_400_000],
    ['user1', nowMs],
  ] as const)
    await world.sql`update users set created_at = ${new Date(seenMs)} where id = ${user}`;
  await voteFromAll(world);

  const [one, two, six, same] = await world.sql<Origin[]>`
    select author, address_hash::text as address, network_hash::text as network, agent_hash as agent,
      account_age as age
    from vote_origins join votes using (itag, author) where votes.created_at = at order by author`;
  assert.is.not(one?.address, two?.address);
  assert.is(one?.network, two?.network);
  assert.equal([same?.address, same?.network], [six?.address, six?.network], 'of one /64');
  assert.is(new Set([one, two, six, same].map((row) => row?.agent)).size, 4);
  const ages = [(one?.age ?? 0) - 86_400, two?.age ?? -1];
  assert.ok(
    ages.every((age) => age >= 0 && age < 3_600),
    String(ages),
  );
});

test('no table holds an address of a voter', async () => {
  const world = await open();
  await voteFromAll(world);
  const tables = await world.sql<{ name: string }[]>`
    select relname as name from pg_class
    where relkind = 'r' and relnamespace = current_schema()::regnamespace`;

  let rows = 0;
  for (const { name } of tables)
    for (const { row } of await world.sql.unsafe<{ row: string }[]>(
      `select t::text as row from "${name}" as t`,
    )) {
      rows += 1;
      assert.not.match(row, /203\.0\.113|2001:db8:77/, name);
    }
  assert.ok(rows > 20);
});

test('where nothing is kept, a vote leaves nothing', async () => {
  const world = await open({ keepsOrigins: false });
  await voteFromAll(world);

  assert.is((await world.sql`select from vote_origins`).length, 0);
});

test.run();
