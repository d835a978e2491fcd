/**
 * The history of listings against a complete Rollcall: points, holes, steps, changes, CSV, caching, mistakes.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { renderSparkPath } from '../../../http/api/badges/badge-sparkline.ts';
import { createHistoryCache } from '../../../http/api/history/history-cache.ts';
import { addBot, addPack, addUser } from '../../storage/catalogue/directory.ts';
import { createRunner, setTotals } from '../../storage/history/world.ts';
import { openWorld, type World } from './world.ts';

const test = suite('route of the history');
let world: World;
/** The hour before the clock of the world. */
let hour = 0;
let bot = 0;

const formatTime = (minute: number): string => new Date(minute * 60_000).toISOString();

test.before(async () => {
  world = await openWorld();
  const { sql } = world;
  await addUser(sql, 'robin');
  bot = (await addBot(sql, 'bot1', { counted: { clicks: 10, servers: '18446744073709551615' } })).incarnation;
  await addPack(sql, 'pack1');
  hour = Math.floor(world.clock.nowMs() / 3_600_000) * 60 - 60;
  const { run } = createRunner(sql);
  for (let at = hour - 60; at <= hour; at += 5) {
    if (at === hour - 30) await setTotals(sql, bot, { clicks: 13, upvotes: 2, status: 'idle', servers: 40 });
    if (at === hour - 5) await setTotals(sql, bot, { clicks: 20 });
    if (at !== hour - 20) await run(at);
  }
});
test.after(() => world.close());

const read = (query: string, target = 'bots/bot1') => world.ask('GET', `/${target}/history${query}`);

test('points have the values of their times, and a missed sample is null', async () => {
  const from = formatTime(hour - 35);
  const { status, json } = await read(`?step=5m&metrics=clicks,votes,status&from=${from}`);

  assert.is(status, 200);
  assert.is(json.step, '5m');
  assert.equal(
    json.times,
    [-35, -30, -25, -20, -15, -10, -5, 0].map((minutes) => formatTime(hour + minutes)),
  );
  assert.equal(json.series, {
    clicks: [10, 13, 13, null, 13, 13, 20, 20],
    votes: [0, 2, 2, null, 2, 2, 2, 2],
    status: ['offline', 'idle', 'idle', null, 'idle', 'idle', 'idle', 'idle'],
  });
});

test('without parameters it is a day up to the newest sample, with all metrics of the kind', async () => {
  const { json } = await read('');
  assert.equal([json.step, json.times.length, json.to], ['5m', 289, formatTime(hour)]);
  assert.equal(json.series.clicks.slice(-3), [13, 20, 20]);
  assert.equal(
    json.series.clicks.slice(0, 276).filter((value: unknown) => value !== null),
    [],
  );
  assert.equal(Object.keys((await read('', 'packs/pack1')).json.series), ['votes', 'votes_logged']);
});

test('hours and days are shown once they are rolled up', async () => {
  const { json } = await read(
    `?step=1h&metrics=clicks&from=${formatTime(hour - 120)}&to=${formatTime(hour + 60)}`,
  );
  assert.equal(json.series.clicks, [null, 10, 20, null]);
});

test('integers beyond 2^63 are shown as the largest that is stored', async () => {
  const { text } = await read(
    `?step=5m&metrics=servers&from=${formatTime(hour - 35)}&to=${formatTime(hour - 30)}`,
  );
  assert.match(text, '"servers":[9223372036854775807,40]');
});

test('changes of counters add up to the whole change, also over a hole', async () => {
  const { json } = await read(`?step=5m&change=true&metrics=clicks,votes&from=${formatTime(hour - 35)}`);
  assert.equal(json.series, {
    clicks: [0, 3, 0, null, 0, 0, 7, 0],
    votes: [0, 2, 2, null, 2, 2, 2, 2],
  });
});

test('CSV has a header line, empty cells for holes, and lines that end as RFC 4180 says', async () => {
  const { text, headers } = await read(
    `?format=csv&step=5m&metrics=clicks,status&from=${formatTime(hour - 20)}&to=${formatTime(hour - 15)}`,
  );
  assert.is(headers.get('content-type'), 'text/csv; charset=utf-8; header=present');
  const lines = [`${formatTime(hour - 20)},,`, `${formatTime(hour - 15)},13,idle`];
  assert.is(text, `${['time,clicks,status', ...lines].join('\r\n')}\r\n`);
});

test('a client whose Accept names CSV and not JSON gets CSV, unless the format is given', async () => {
  const typeOf = async (accept: string, query = '') => {
    const reply = await world.ask('GET', `/bots/bot1/history?metrics=clicks${query}`, {
      headers: { Accept: accept },
    });
    return [reply.headers.get('content-type')?.split(';')[0], reply.headers.get('vary')];
  };
  assert.equal(await typeOf('text/csv'), ['text/csv', 'Accept']);
  assert.equal(await typeOf('text/csv, */*;q=0.1'), ['text/csv', 'Accept']);
  assert.equal(await typeOf('application/json, text/csv'), ['application/json', 'Accept']);
  assert.equal(await typeOf('*/*'), ['application/json', 'Accept']);
  assert.equal(await typeOf('text/csv', '&format=json'), ['application/json', null]);
});

test('times of any zone are instants, and a range may begin after the newest sample', async () => {
  const zoned = await read(
    `?step=1h&metrics=clicks&from=2026-03-01T01:30:00%2B01:30&to=2026-02-28T23:00:00-01:00`,
  );
  assert.equal(zoned.json.times, ['2026-03-01T00:00:00.000Z']);
  const next = await read(`?step=5m&metrics=clicks&from=${formatTime(hour + 5)}`);
  assert.equal([next.status, next.json.times], [200, [formatTime(hour + 5)]]);
  assert.equal(next.json.series.clicks, [null]);
});

test('a reply has a tag, and is not sent again while nothing is newer', async () => {
  const first = await read('?metrics=clicks');
  const etag = first.headers.get('etag') ?? '';
  const again = await world.ask('GET', '/bots/bot1/history?metrics=clicks', {
    headers: { 'If-None-Match': etag },
  });
  assert.match(first.headers.get('cache-control') ?? '', /^public, max-age=\d+$/);
  assert.equal([again.status, again.text], [304, '']);
});

test('a range of too many points is refused with the step that fits', async () => {
  const { status, json } = await read('?step=5m&from=2026-01-01&to=2026-01-31');
  assert.equal([status, json.context.code, json.context.step], [400, 'range_too_long', '1h']);
  const years = await read('?from=2000-01-01&to=2026-01-31');
  assert.equal([years.status, years.json.context.code, years.json.context.step], [400, 'range_too_long', '']);
});

test('months with votes are listed, the newest first', async () => {
  const cast = (month: string, upvotes: number) => world.sql`
    insert into vote_months
      (incarnation, month, kind, upvotes, downvotes, voters, redeemed, voided, net, rank)
    values (${bot}, ${`${month}-01`}, 'bot', ${upvotes}, 1, 2, 0, 0, ${upvotes - 1}, 1)`;
  await cast('2026-01', 5);
  await cast('2025-12', 9);
  const both = await world.ask('GET', '/bots/bot1/votes/months');
  const one = await world.ask('GET', '/bots/bot1/votes/months?limit=1');

  assert.equal(both.json.results, [
    { month: '2026-01', upvotes: 5, downvotes: 1, voters: 2, redeemed: 0, voided: 0, rank: 1 },
    { month: '2025-12', upvotes: 9, downvotes: 1, voters: 2, redeemed: 0, voided: 0, rank: 1 },
  ]);
  assert.equal(one.json.results.length, 1);
  assert.is((await world.ask('GET', '/bots/unknown/votes/months')).status, 404);
});

test('a sparkline shows seven days, clicks per hour, with gaps', async () => {
  const draw = (file: string) => world.ask('GET', `/badges/bots/bot1/${file}`);
  const { text, headers } = await draw('spark-clicks.svg?color=red');
  assert.is(headers.get('content-type'), 'image/svg+xml');
  assert.match(text, 'aria-label="clicks, 7 days: 10"');
  assert.match(text, 'stroke="#e05d44"');
  assert.match((await draw('spark-servers.svg')).text, 'servers, 7 days: 40');
  assert.match((await draw('spark-uptime.svg')).text, 'unknown');
  assert.match((await world.ask('GET', '/badges/packs/pack1/spark-votes.svg')).text, 'votes, 7 days: 0');
  assert.equal((await draw('spark-clicks.json')).json.isError, true);
});

test('the path of a sparkline begins again after a gap, and is flat for equal values', () => {
  assert.is(renderSparkPath([0, 10, null, 5]), 'M2.0 28.0h0L40.7 2.0M118.0 15.0h0');
  assert.is(renderSparkPath([7, 7]), 'M2.0 15.0h0L118.0 15.0');
  assert.is(renderSparkPath([null]), '');
});

test('mistakes are named', async () => {
  const faultOf = async (query: string) => {
    const { status, json } = await read(query);
    return [status, Object.keys(json.context)[0]];
  };
  assert.equal(await faultOf('?metrics=cats'), [400, '/metrics']);
  assert.equal(await faultOf('?step=7m'), [400, '/step']);
  assert.equal(await faultOf('?from=yesterday'), [400, '/from']);
  assert.equal(await faultOf('?to=9999-01-01'), [400, '/to']);
  assert.equal(await faultOf('?from=1999-12-31&to=2000-01-01'), [400, '/from']);
  assert.equal(await faultOf('?from=2026-02-29'), [400, '/from']);
  assert.equal(await faultOf('?to=2026-04-31T00:00:00Z'), [400, '/to']);
  assert.equal(await faultOf('?from=2026-03-01T12:00'), [400, '/from']);
  assert.equal(await faultOf('?from=2026-02-02&to=2026-02-01'), [400, '/from']);
  assert.is((await read('', 'bots/unknown')).status, 404);
  assert.is((await read('', 'users/robin')).status, 400);
  assert.equal((await read('?metrics=servers', 'packs/pack1')).status, 400);
});

test('a sparkline in another colour is not read again', async () => {
  const draw = async (color: string) =>
    (await world.ask('GET', `/badges/packs/pack1/spark-votes.svg?color=${color}`)).text;
  const red = await draw('red');
  await world.sql`update history_hours set votes = 7`;

  assert.is(await draw('abc'), red.replace('#e05d44', '#abc'));
});

test('bodies are built one per turn of the event loop, few are read at once, equal ones share', async () => {
  const cache = createHistoryCache();
  let [reading, readingMax, iteration, reads] = [0, 0, 0, 0];
  const builtIn: number[] = [];
  const isOver = (): boolean => builtIn.length === 20;
  const count = (): void => {
    iteration += 1;
    if (!isOver()) setImmediate(count);
  };
  count();
  const read = async () => {
    reads += 1;
    readingMax = Math.max(readingMax, ++reading);
    await new Promise((resolve) => setTimeout(resolve, 1));
    reading -= 1;
    return () => String(builtIn.push(iteration));
  };
  const keys = Array.from({ length: 20 }, (_, index) => `key${index}`);
  const bodies = await Promise.all([...keys, ...keys].map((key) => cache.get(key, read)));

  assert.is(new Set(builtIn).size, 20);
  assert.ok(readingMax <= 4, String(readingMax));
  assert.is(reads, 20);
  assert.equal(bodies.slice(20), bodies.slice(0, 20));
  assert.is(await cache.get('key7', read), bodies[7]);
});

test('a failed read is not kept, and the bodies that wait are bounded', async () => {
  const cache = createHistoryCache();
  const fail = () => cache.get('one', () => Promise.reject(new Error('away')));
  const failed = await Promise.resolve(fail()).catch(({ message }: Error) => message);
  assert.is(failed as unknown, 'away');
  const { promise, resolve } = Promise.withResolvers<() => string>();
  const waiting = Array.from({ length: 1_000 }, (_, index) => cache.get(`${index}`, () => promise));
  assert.throws(() => cache.get('more', () => promise), /Too many histories/);
  resolve(() => 'text');
  assert.is((await Promise.all(waiting)).length, 1_000);
});

test('a sparkline shows the last seven days, also when no sample runs any more', async () => {
  // The same address would get the same picture for a second.
  const draw = async (color: string) =>
    (await world.ask('GET', `/badges/bots/bot1/spark-servers.svg?color=${color}`)).text;
  assert.match(await draw('green'), 'servers, 7 days: 40');
  world.clock.skip(8 * 86_400_000);
  assert.match(await draw('blue'), 'servers, 7 days: no data');
});

test.run();
