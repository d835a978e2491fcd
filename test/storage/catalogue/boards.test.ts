/**
 * Editions of leaderboards against a brute-force computation on random data: order, ties, ranks, what is
 * listed, and what a repeated or older run does.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createRandom } from '../../../bench/shared/random.ts';
import { type BoardName, computeRank, type Edition, placesMax } from '../../../engine/rules/boards.ts';
import { createCatalogue } from '../../../storage/catalogue/catalogue.ts';
import { deleteListing, resetVotes } from '../../../storage/ledger/adjust.ts';
import { never } from '../history/world.ts';
import { addBot, addServer, addTeam, addUser, addVote, openDirectory } from './directory.ts';

const test = suite('boards');
const directory = await openDirectory();
const { sql } = directory;
test.after(() => directory.close());

const random = createRandom(7);
const listings = 2_600;
const startMs = Date.UTC(2026, 2, 10, 12);
let runs = 0;
/** The due time of the next run. */
const nextRun = (): number => startMs + ++runs * 60_000;

/** Two nodes on the same stores. */
const [boards, otherBoards] = [createCatalogue(sql).boards, createCatalogue(sql).boards];

/** Lists many bots at once; every seventh waits for its approval. */
const addBots = async (): Promise<void> => {
  await addUser(sql, 'robin');
  await sql`insert into totals (incarnation, kind, entity_id, shard)
    select nextval('incarnations'), 'bot', 'bot' || number, 0 from generate_series(1, ${listings}) as number`;
  await sql`insert into vanity (itag, code, target_type, target_id)
    select gen_random_uuid(), entity_id, 'bot', entity_id from totals`;
  await sql`
    insert into bots (bot_id, incarnation, client_id, itag, vanity_ref, type, owner_id, library, prefix,
      short, long, invite)
    select entity_id, incarnation, entity_id, gen_random_uuid(), vanity.itag,
      case when incarnation % 7 = 0 then 'pending' else 'approved' end, 'robin', '', '', '', '', ''
    from totals join vanity on target_id = entity_id`;
  await sql`analyze`;
};

/** Counts with many ties, and some listings without any. */
const recount = async (): Promise<void> => {
  const numbers = Array.from({ length: listings }, () => {
    const [checks, net] = [random.integer(0, 3_000), random.integer(-4, random.chance(0.5) ? 4 : 40)];
    return { net, checks, up: random.chance(0.4) ? checks : random.integer(0, checks) };
  });
  await sql`
    update totals set upvotes = greatest(net, 0), downvotes = greatest(-net, 0), total_uptime = checks,
      uptime = up
    from (select 'bot' || row_number() over () as id, new.* from jsonb_to_recordset(${sql.json(numbers)})
      as new (net integer, checks integer, up integer)) as new
    where kind = 'bot' and entity_id = id`;
};

interface Row {
  readonly incarnation: number;
  readonly score: number;
}
const readAll = async (board: BoardName): Promise<readonly Row[]> => {
  const rows = await sql<{ incarnation: number; votes: number; uptime: number; total_uptime: number }[]>`
    select incarnation, votes, uptime, total_uptime from totals
    where incarnation in (select incarnation from bots where type in ('approved', 'certified'))`;
  if (board === 'votes') {
    return rows.filter(({ votes }) => votes > 0).map((row) => ({ ...row, score: row.votes }));
  }
  const checked = rows.filter((row) => row.total_uptime >= 1_000);
  return checked.map((row) => ({ ...row, score: (100 * row.uptime) / row.total_uptime }));
};

/** The whole board in its order, by sorting all listings. */
const sortAll = (rows: readonly Row[], before: Edition | null): readonly Row[] => {
  const place = ({ incarnation }: Row): number => before?.index.get(incarnation) ?? placesMax;
  return [...rows].sort(
    (left, right) =>
      right.score - left.score || place(left) - place(right) || left.incarnation - right.incarnation,
  );
};

const find = (board: BoardName): Edition => {
  const edition = boards.find('bot', board);
  if (edition === null) throw new Error(`no edition of ${board}`);
  return edition;
};

await addBots();

for (const board of ['votes', 'uptime'] as const) {
  test(`${board}: four editions in a row are what a sort of all listings gives, with ties`, async () => {
    for (let round = 0; round < 4; round++) {
      const before = boards.find('bot', board);
      // The second round has the same scores again: then nothing may move.
      if (round !== 1) await recount();
      if (board === 'votes') await boards.makeVotes(nextRun());
      await boards.makeOthers(nextRun(), never);
      await boards.refresh();

      const all = sortAll(await readAll(board), before);
      const edition = find(board);
      assert.equal(
        edition.places.map(({ incarnation, score }) => ({ incarnation, score })),
        all.slice(0, placesMax).map(({ incarnation, score }) => ({ incarnation, score })),
      );
      assert.is(new Set(edition.places.map(({ incarnation }) => incarnation)).size, placesMax);
      assert.is(edition.counts.listings, all.length);
      assert.ok(all.length > placesMax, 'some listings have no place');
    }
  });

  test(`${board}: ranks beyond the places are right within 0.1 %`, async () => {
    const all = sortAll(await readAll(board), null);
    const edition = find(board);
    let exact = 0;
    for (const [index, { incarnation, score }] of all.entries()) {
      const rank = computeRank(edition, incarnation, score);
      const place = edition.index.get(incarnation);
      assert.is(rank?.of, all.length);
      if (place !== undefined) {
        exact += 1;
        assert.equal(rank, { position: place + 1, of: all.length, exact: true });
        continue;
      }
      const best = all.findIndex((other) => other.score === score) + 1;
      assert.is(rank?.exact, false);
      const position = rank?.position ?? 0;
      const tolerance = Math.ceil(all.length / 1_000);
      assert.ok(position >= Math.max(best, placesMax + 1) - tolerance, `${position} of ${index}, ${best}`);
      assert.ok(position <= Math.max(best, placesMax + 1) + tolerance, `${position} of ${index}, ${best}`);
    }
    assert.is(exact, placesMax);
    assert.is(computeRank(edition, -1, null), null, 'a listing that does not qualify');
  });
}

test('a run that is repeated, or older than the edition, changes nothing', async () => {
  const [atMs, before] = [nextRun(), nextRun() - 120_000];
  await recount();
  await Promise.all([boards.makeVotes(atMs), otherBoards.makeVotes(atMs)]);
  await boards.refresh();
  const edition = find('votes');
  await recount();
  await otherBoards.makeVotes(atMs);
  await otherBoards.makeVotes(before);
  await otherBoards.makeOthers(before, never);
  await Promise.all([boards.refresh(), otherBoards.refresh()]);

  assert.is(edition.number, atMs);
  assert.is(boards.find('bot', 'votes'), edition);
  assert.equal(otherBoards.find('bot', 'votes'), edition);
});

test('a change is counted from the last edition of the day before', async () => {
  const tomorrowMs = startMs + 86_400_000;
  await boards.refresh();
  const yesterday = find('votes');
  for (let hour = 0; hour < 3; hour++) {
    await recount();
    await boards.makeVotes(tomorrowMs + hour * 3_600_000);
  }
  await boards.refresh();

  const moved = find('votes').places.map(({ incarnation, change }, place) => ({
    incarnation,
    change,
    place,
  }));
  for (const { incarnation, change, place } of moved) {
    const before = yesterday.index.get(incarnation);
    assert.is(change, before === undefined ? null : before - place);
  }
  assert.ok(moved.some(({ change }) => change === null));
});

test('imported votes of past months count at once, and once after the first reset', async () => {
  const ref = await addBot(sql, 'imported', { counted: { upvotes: 2 } });
  const cast = { created_at: '2026-02-11T00:00:00Z', vote_num: 0 };
  for (const author of ['void1', 'void2', 'void3'])
    await addVote(sql, ref, { ...cast, author, void: true, void_reason: 'monthly_reset' });
  await addVote(sql, ref, { ...cast, author: 'void4', void: true, void_reason: 'operator' });
  await addVote(sql, ref, { ...cast, author: 'valid1' });
  await addVote(sql, ref, { ...cast, author: 'valid2', created_at: '2025-05-01T00:00:00Z' });
  const readScores = async (atMs: number) => {
    await boards.makeOthers(atMs, never);
    await boards.refresh();
    return ['votes-ever', 'votes-last-month'].map((board) => {
      const edition = find(board as BoardName);
      return edition.places[edition.index.get(ref.incarnation) ?? -1]?.score;
    });
  };
  const tomorrowMs = startMs + 86_400_000;

  assert.equal(await readScores(tomorrowMs), [5, 4]);
  assert.equal(await readScores(tomorrowMs + 600_000), [5, 4]);
  const resetMs = Date.UTC(2026, 3, 1);
  await resetVotes(sql, { scope: 'all', atMs: resetMs, reason: 'monthly_reset' });
  assert.equal(await readScores(resetMs + 300_000), [5, 4], 'too early: the edition before stays');
  assert.equal(await readScores(resetMs + 600_000), [5, undefined], 'the totals still have the votes');
  await sql`update totals set upvotes = 0, released_before_ms = ${resetMs} where entity_id = 'imported'`;
  assert.equal(await readScores(resetMs + 1_200_000), [5, undefined]);
});

test('deleted and denied listings leave a page at once, the rest keeps its positions', async () => {
  const atMs = startMs + 60 * 86_400_000;
  await boards.makeVotes(atMs);
  await boards.refresh();
  const [first, second, third] = (await boards.page('bot', 'votes', 1)).bots;
  await sql.begin((transaction) => deleteListing(transaction, { kind: 'bot', id: first?.row.bot_id ?? '' }));
  await sql`update bots set type = 'denied' where bot_id = ${second?.row.bot_id ?? ''}`;
  const page = await createCatalogue(sql).boards.page('bot', 'votes', 1);

  assert.is(page.bots.length, 23);
  assert.equal(page.bots[0], third);
  assert.is(third?.place, 2);
  await boards.makeVotes(atMs + 60_000);
  const next = await createCatalogue(sql).boards.page('bot', 'votes', 1);
  assert.equal([next.bots.length, next.bots[0]?.row.bot_id], [25, third?.row.bot_id]);
});

test('a server that is no longer public leaves a page at once', async () => {
  const atMs = startMs + 61 * 86_400_000;
  await addTeam(sql, 'team');
  for (const id of ['first', 'second'])
    await addServer(sql, id, { team_id: 'team', counted: { upvotes: 9 } });
  await boards.makeVotes(atMs);
  await boards.refresh();
  await sql`update servers set state = 'private' where server_id = 'first'`;
  const { servers } = await boards.page('server', 'votes', 1);

  assert.equal(
    servers.map(({ row, place }) => [row.server_id, place]),
    [['second', 1]],
  );
});

test.run();
