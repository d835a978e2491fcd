/**
 * Orders of voters while many connections of a Postgres server write votes, void them and read pages: only
 * here can a vote be missed by an order that is being built.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createRandom } from '../../../bench/shared/random.ts';
import { createVoterOrders, purgeVoterOrders } from '../../../storage/catalogue/votes/voter-order.ts';
import { addBot, addUser } from '../catalogue/directory.ts';
import { addVotes, changeVotes, plainVoters } from '../catalogue/voter-order.ts';
import { openDatabase } from './database.ts';

const test = suite('orders of voters on postgres');
const seed = Number(process.env.SEED ?? 12);
const { sql } = await openDatabase(test);

await addUser(sql, 'robin');
test('orders that are built, dropped and read during votes miss no voter and keep no void vote', async () => {
  for (let round = 0; round < 6; round++) {
    const ref = await addBot(sql, `bot${round}`);
    const nodes = [3, 3, 3].map((segmentVoters) => createVoterOrders(sql, { segmentVoters, fewVotesMax: 0 }));
    await addVotes(sql, ref, { random: createRandom(seed + round), votes: 80 });
    const writers = [0, 1, 2, 3].map(async (writer) => {
      const random = createRandom(1_000 * seed + 10 * round + writer);
      for (let change = 0; change < 15; change++) await changeVotes(sql, ref, random);
    });
    const readers = nodes.map(async (orders) => {
      for (let read = 0; read < 10; read++) await orders.page(ref, 1);
    });
    await sql`update voter_orders set read_at = 'epoch'`;
    await purgeVoterOrders(sql);
    await Promise.all([...writers, ...readers]);

    const expected = await plainVoters(sql, ref);

    for (const orders of nodes) assert.equal(await orders.page(ref, 1), expected, `seed ${seed}`);
  }
});

test('a reader sees a vote that was committed before, however many read at once', async () => {
  const ref = await addBot(sql, 'read');
  const orders = createVoterOrders(sql, { fewVotesMax: 0 });
  await orders.page(ref, 1);
  for (let number = 0; number < 20; number++) {
    const author = `late${number}`;
    const others = Array.from({ length: 4 }, () => orders.page(ref, 1));
    await sql`
      insert into votes (itag, created_at, incarnation, target_type, target_id, author, upvote, vote_num)
      values (gen_random_uuid(), now(), ${ref.incarnation}, 'bot', 'read', ${author}, true, 0)`;
    const [shown] = await Promise.all([orders.page(ref, 1), ...others]);

    assert.is(shown[0], author);
  }
});

test.run();
