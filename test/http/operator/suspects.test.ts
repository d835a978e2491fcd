/**
 * Votes by hour, as operators see them: of all listings, and of one beside what would be a surge.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { EntityRef } from '../../../engine/ids.ts';
import { addBot, addPack, addUser } from '../../storage/catalogue/directory.ts';
import { openOperated } from './world.ts';

const test = suite('votes by hour');
const world = await openOperated();
const { sql, send, clock } = world;
test.after(() => world.close());
const hourMs = 3_600_000;

/** Votes in the hour that began so many hours ago. */
const addVotes = async (ref: EntityRef, hoursAgo: number, votes: number): Promise<void> => {
  const hour = Math.floor(clock.nowMs() / hourMs) - hoursAgo;
  await sql`
    insert into votes (itag, created_at, incarnation, target_type, target_id, author, upvote, vote_num)
    select gen_random_uuid(), ${new Date(hour * hourMs)}::timestamptz + make_interval(secs => n),
      ${ref.incarnation}, ${ref.kind}, ${ref.id}, 'voter' || n, true, 0
    from generate_series(1, ${votes}::int) as n`;
};
interface Hour {
  readonly hour: string;
  readonly votes: number;
  readonly young: number | null;
  readonly surge_above: number | null;
}
const readHours = async (query: string): Promise<Hour[]> =>
  (await send(`GET /votes/hours${query}`)).json.hours;

await addUser(sql, 'robin');

test('of a listing each hour of two weeks, and the votes above which it would be a surge', async () => {
  const [ref, other] = [await addBot(sql, 'surging'), await addBot(sql, 'other')];
  await addVotes(ref, 0, 30);
  await addVotes(ref, 2, 336);
  await addVotes(ref, 3, 336 * 9);
  await addVotes(ref, 337, 336 * 4);
  await addVotes(other, 0, 5);

  const hours = await readHours('?target_type=bot&target_id=surging');
  assert.is(hours.length, 336);
  const begin = Date.parse(hours[0]?.hour ?? '');
  assert.equal(
    hours.filter(({ hour }, index) => Date.parse(hour) !== begin + index * hourMs),
    [],
  );
  assert.equal(
    hours.slice(-4).map(({ votes, surge_above }) => [votes, surge_above]),
    // Six times the mean: 4 an hour of the votes of two weeks ago, until these are too old; at least 20.
    [
      [336 * 9, 24],
      [336, 24 + 54],
      [0, 24 + 54 + 6],
      [30, 54 + 6],
    ],
  );
  assert.is(hours[0]?.surge_above, 24);
  assert.equal(new Set(hours.map(({ young }) => young)), new Set([null]));
  const few = await readHours('?target_type=bot&target_id=other');
  assert.equal([few.length, few.at(-1)?.votes, few.at(-1)?.surge_above], [336, 5, 20]);
  await addVotes(await addPack(sql, 'starter'), 0, 2);
  for (const url of ['starter', 'Starter'])
    assert.is((await readHours(`?target_type=pack&target_id=${url}`)).at(-1)?.votes, 2, url);
});

test('without votes there are no hours, and a listing is named whole', async () => {
  await addBot(sql, 'silent');
  assert.equal(await readHours('?target_type=bot&target_id=silent'), []);
  assert.equal(await readHours('?target_type=bot&target_id=unknown'), []);
  assert.is((await send('GET /votes/hours?target_type=bot')).status, 400);
});

test('of all listings those with an origin, and how many are of new accounts', async () => {
  await sql`insert into vote_counts (hour, votes, young) values ('2026-11-20 10:00Z', 7, 2)`;
  assert.equal(await readHours(''), [
    { hour: '2026-11-20T10:00:00.000Z', votes: 7, young: 2, surge_above: null },
  ]);
});

test.run();
