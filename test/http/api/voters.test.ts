/**
 * Voters over HTTP: how often, in a row, most of all and from where, as clients read it.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { addBot, addUser } from '../../storage/catalogue/directory.ts';
import { until } from '../../support/until.ts';
import { openWorld } from './world.ts';

const test = suite('routes of voters');
const dayMs = 86_400_000;
const world = await openWorld();
const { sql } = world;
for (const user of ['robin', 'ann', 'ben', 'cat']) await addUser(sql, user);
let bots = 0;
const newBot = async (): Promise<string> => {
  const id = `voted${++bots}`;
  await addBot(sql, id);
  return id;
};
test.after(() => world.close());

let addresses = 0;
/** Each request from an address of its own: on a fast machine all together are more than one may send. */
const send = (method: string, path: string, { token }: { readonly token?: string } = {}) => {
  addresses += 1;
  const headers = { 'x-forwarded-for': `10.7.${addresses >> 8}.${addresses & 255}` };
  return world.ask(method, path, token === undefined ? { headers } : { headers, token });
};
const vote = async (user: string, bot: string, query = 'upvote=true'): Promise<void> => {
  const token = await world.token('user', user, { lastsSeconds: 366 * 86_400 });
  const path = `/users/${user}/bots/${bot}/votes?${query}`;
  await until('the vote', async () => {
    const { status, text } = await send('PUT', path, { token });
    if (status !== 503) assert.is(status, 204, text);
    return status === 204;
  });
};
/** What needs the newest votes is 503 while SQL is slow, and is requested again. */
const read = async (path: string, token?: string) => {
  let json = null as unknown as Awaited<ReturnType<typeof world.ask>>['json'];
  await until(`an answer to ${path}`, async () => {
    const reply = await send('GET', path, token === undefined ? {} : { token });
    json = reply.json;
    if (reply.status !== 503) assert.is(reply.status, 200, reply.text);
    return reply.status === 200;
  });
  return json;
};
/** To noon of a Monday, so that no weekend begins within the next days. */
const skipToMonday = (): void => {
  const noonMs = (Math.floor(world.clock.nowMs() / dayMs) + 1) * dayMs + dayMs / 2;
  const mondayMs = noonMs + ((8 - new Date(noonMs).getUTCDay()) % 7) * dayMs;
  world.clock.skip(mondayMs - world.clock.nowMs());
};
const formatTime = (ms: number): string => new Date(ms).toISOString();

test('times and days in a row grow with votes, and a day without one ends the streak', async () => {
  const bot = await newBot();
  const path = `/users/ann/bots/${bot}/votes/summary`;
  skipToMonday();
  assert.equal(await read(path), { times: 0, streak: 0, longest: 0, streak_ends_at: null, truncated: false });
  for (let day = 0; day < 3; day++) {
    await vote('ann', bot);
    world.clock.skip(dayMs);
  }
  const midnightMs = Math.floor(world.clock.nowMs() / dayMs) * dayMs;
  const streak_ends_at = formatTime(midnightMs + dayMs);
  assert.equal(await read(path), { times: 3, streak: 3, longest: 3, streak_ends_at, truncated: false });

  await world.catalogue.operator.votes.reset({ scope: 'all', atMs: midnightMs, reason: 'monthly_reset' });
  assert.is((await read(path)).streak, 3, 'the month has begun again');
  world.clock.skip(dayMs);
  const broken = { times: 3, streak: 0, longest: 3, streak_ends_at: null, truncated: false };
  assert.equal(await read(path), broken);
});

test('a request of two votes is one time; an unknown user has none, an unknown bot is 404', async () => {
  const bot = await newBot();
  skipToMonday();
  world.clock.skip(5 * dayMs);
  await vote('ben', bot);
  assert.is((await read(`/bots/${bot}`)).votes, 2);

  assert.is((await read(`/users/ben/bots/${bot}/votes/summary`)).times, 1);
  assert.is((await read(`/users/nobody/bots/${bot}/votes/summary`)).times, 0);
  assert.is((await send('GET', '/users/ben/bots/unknown/votes/summary')).status, 404);
});

test('a user sees all listings that they voted on, and nobody else does', async () => {
  const listed = [];
  for (let count = 0; count < 12; count++) {
    const bot = await newBot();
    listed.unshift(bot);
    await vote('cat', bot);
    world.clock.skip(1_000);
    await read(`/users/cat/bots/${bot}/votes/summary`);
  }
  const path = '/users/cat/votes/summary';
  const token = await world.token('user', 'cat');
  const [first, second, third] = [
    await read(path, token),
    await read(`${path}?page=2`, token),
    await read(`${path}?page=3`, token),
  ];

  assert.equal([first.count, first.per_page, third.results], [12, 10, []]);
  assert.equal(
    [...first.results, ...second.results].map(({ target_id, times }) => [target_id, times]),
    listed.map((id) => [id, 1]),
  );
  assert.is((await send('GET', path)).status, 401);
  assert.is((await send('GET', path, { token: await world.token('user', 'ann') })).status, 403);
  assert.is((await send('GET', path, { token: await world.token('bot', listed[0] ?? '') })).status, 401);
});

test('the log says what each voter had done by then', async () => {
  const bot = await newBot();
  skipToMonday();
  const { head } = await read(`/bots/${bot}/votes/log`);
  for (let day = 0; day < 2; day++) {
    await vote('ann', bot);
    world.clock.skip(dayMs);
  }
  const { results } = await read(`/bots/${bot}/votes/log?voter=1&after=${head}`);
  const expected = [1, 2].map((count) => ({ times: count, streak: count, longest: count }));
  assert.equal(
    results.map(({ voter }: { voter: object }) => voter),
    expected,
  );
  assert.is('voter' in (await read(`/bots/${bot}/votes/log?after=${head}`)).results[0], false);
  const wrong = await send('GET', `/bots/${bot}/votes/log?voter=yes`);
  assert.is(wrong.status, 400);
});

test('a ref goes with the vote into the log and the counts by day; another form is 400', async () => {
  const bot = await newBot();
  skipToMonday();
  const head = (await read(`/bots/${bot}/votes/log`)).head;
  await vote('ann', bot, 'upvote=true&ref=news.letter_7~-');
  await vote('ben', bot, 'upvote=false');
  await vote('cat', bot, 'upvote=true&ref=news.letter_7~-');
  const { results } = await read(`/bots/${bot}/votes/log?after=${head}`);
  const refs = results.map(({ author, ref }: Record<string, string>) => `${author} ${ref}`);
  assert.equal(refs.sort(), ['ann news.letter_7~-', 'ben ', 'cat news.letter_7~-']);

  const counted = await read(`/bots/${bot}/votes/refs?days=1`);
  const day = formatTime(world.clock.nowMs()).slice(0, 10);
  assert.equal(counted, {
    since: day,
    results: [
      { day, ref: 'news.letter_7~-', votes: 2 },
      { day, ref: '', votes: 1 },
    ],
    rest: 0,
  });
  const token = await world.token('user', 'robin');
  for (const ref of ['', 'a b', 'a%26b', 'x'.repeat(65), '%C3%BC']) {
    const wrong = await send('PUT', `/users/robin/bots/${bot}/votes?upvote=true&ref=${ref}`, { token });
    assert.equal([ref, wrong.status, wrong.json.context.code], [ref, 400, 'validation_failed']);
  }
  for (const days of ['0', '91', 'x'])
    assert.is((await send('GET', `/bots/${bot}/votes/refs?days=${days}`)).status, 400, days);
});

test('top voters: most votes first, by month or ever, each with times and streak', async () => {
  const bot = await newBot();
  skipToMonday();
  for (const user of ['ann', 'ben', 'ann']) {
    await vote(user, bot);
    world.clock.skip(dayMs);
  }
  const path = `/bots/${bot}/votes/top`;
  const { results, ...page } = await read(`${path}?period=all`);

  assert.equal([page.count, page.per_page], [2, 25]);
  assert.equal(
    results.map((row: { user: { id: string } }) => ({ ...row, user: row.user.id })),
    [
      { position: 1, user: 'ann', votes: 2, times: 2, streak: 1, longest: 1 },
      { position: 2, user: 'ben', votes: 1, times: 1, streak: 0, longest: 1 },
    ],
  );
  assert.equal((await read(`${path}?period=all&page=2`)).results, []);
  const wrong = await send('GET', `${path}?period=week`);
  assert.equal([wrong.status, wrong.json.context.code], [400, 'validation_failed']);
  assert.is((await send('GET', '/bots/unknown/votes/top')).status, 404);
  world.clock.skip(62 * dayMs);
  assert.is((await read(path)).count, 0, 'another month');
  assert.is((await read(`${path}?period=all`)).count, 2);
});

test.run();
