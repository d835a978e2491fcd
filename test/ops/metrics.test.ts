/**
 * What `/metrics` of a whole node shows: every counter that people set alerts on exists at zero before
 * anything has happened, and the counters of the directory count what clients did.
 */
import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { openStream, Refused } from '../http/feed/clients.ts';
import { until } from '../support/until.ts';
import { openWorld, type World } from '../world.ts';

const test = suite('metrics of a node');
let world: World;

test.before(async () => {
  world = await openWorld();
});
test.after(() => world.close());

/** One line of the text format: the name with its labels, and the value. */
const parse = (text: string): Map<string, number> =>
  new Map(
    text
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'))
      .map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))]),
  );
const scrape = async () => parse(await (await fetch(`${world.adminUrl}/metrics`)).text());

const alertedOn = [
  'rollcall_http_requests_total{route="postStats",status="503"}',
  'rollcall_http_requests_total{route="postStats",status="500"}',
  'rollcall_commit_failures_total{outcome="unknown"}',
  'rollcall_continuity_losses_total{reason="commits_lost"}',
  'rollcall_retransmit_results_total{outcome="merged"}',
  'rollcall_flush_failures_total{reason="unreachable"}',
  'rollcall_dead_letters_total',
  'rollcall_job_failures_total{job="monthly_reset"}',
  'rollcall_job_failures_total{job="reminders"}',
  'rollcall_push_messages_total{outcome="abandoned"}',
  'rollcall_outbound_requests_total{service="login",outcome="failure"}',
  'rollcall_votes_total{kind="pack",outcome="failed"}',
  'rollcall_stats_posts_total',
  'rollcall_clicks_total',
  'rollcall_credits_redeemed_cents_total',
  'rollcall_votes_logged_total',
  'rollcall_badges_total{cache="unavailable"}',
  'rollcall_history_rows_total{level="days"}',
  'rollcall_history_sample_seconds_count',
  'rollcall_history_holes_total',
  'rollcall_feed_connections{kind="websocket"}',
  'rollcall_feed_frames_total{event="gap"}',
  'rollcall_feed_conflated_total',
  'rollcall_http_unread_closed_total{reason="slow"}',
  'rollcall_feed_gaps_total{reason="behind"}',
  'rollcall_feed_refused_total{reason="connections"}',
];

test('every counter that alerts use exists at zero from the start', async () => {
  const values = await scrape();

  for (const name of alertedOn) assert.is(values.get(name), 0, name);
});

const lag = (values: Map<string, number>, figure: string): number =>
  values.get(`nodejs_eventloop_lag_${figure}_seconds`) ?? Number.NaN;
const active = (values: Map<string, number>): number =>
  values.get('rollcall_event_loop_active_seconds_total') ?? Number.NaN;

test('an idle event loop is not late, a stalled one is, by as long as it stood still', async () => {
  await until(
    'a scrape of an idle node',
    async () => {
      const before = await scrape();
      await pause(1_200);
      const after = await scrape();
      return (
        ['mean', 'p50', 'p99', 'max'].every((figure) => lag(after, figure) < 0.25) &&
        active(after) - active(before) < 0.6
      );
    },
    30_000,
  );
  const before = await scrape();
  await pause(700);
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2_000);
  await pause(10);
  const after = await scrape();

  assert.ok(lag(after, 'max') >= 0.9, `late by ${lag(after, 'max')} s`);
  assert.ok(active(after) - active(before) >= 1.9, `${active(before)} → ${active(after)}`);
});

test('every metric of Rollcall has a panel on the dashboard, and each panel shows a real one', async () => {
  const file = new URL('../../ops/deploy/grafana/rollcall.json', import.meta.url);
  const { panels } = JSON.parse(readFileSync(file, 'utf8')) as {
    panels: { readonly targets?: readonly { readonly expr: string }[] }[];
  };
  const queries = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)).join('\n');
  const text = await (await fetch(`${world.adminUrl}/metrics`)).text();
  const names = [...text.matchAll(/^# TYPE (\w+)/gm)].map(([, name]) => name as string);
  const plain = (name: string): string =>
    names.includes(name) ? name : name.replace(/_(bucket|sum|count)$/, '');
  const shown = new Set(
    [...queries.matchAll(/\b(?:rollcall|nodejs|process)_\w+/g)].map(([name]) => plain(name)),
  );

  assert.ok(names.length > 50);
  assert.equal(
    names.filter((name) => name.startsWith('rollcall_') && !shown.has(name)),
    [],
  );
  assert.equal(
    [...shown].filter((name) => !names.includes(name)),
    [],
  );
});

test('a ready node with both stores says so', async () => {
  const values = await scrape();

  assert.is(values.get('rollcall_ready'), 1);
  assert.is(values.get('rollcall_store_up{store="hot"}'), 1);
  assert.is(values.get('rollcall_store_up{store="sql"}'), 1);
});

test('posts, page views and votes of every outcome are counted', async () => {
  const { bot, user } = world.demo;
  const vote = async (id: string) =>
    (
      await fetch(`${world.url}/users/${user.id}/bots/${id}/votes?upvote=true`, {
        method: 'PUT',
        headers: { 'User-Auth': user.token },
      })
    ).status;
  await fetch(`${world.url}/bots/stats`, {
    method: 'POST',
    headers: { 'Bot-Auth': bot.token, 'Content-Type': 'application/json' },
    body: '{"servers":1}',
  });
  await fetch(`${world.url}/bots/${bot.id}?target=page`);
  const statuses = [await vote(bot.id), await vote(bot.id), await vote('404')];
  await world.engine.waitForFlush('bot', bot.id);
  await fetch(`${world.url}/badges/bots/${bot.id}/votes.svg`);
  await fetch(`${world.url}/badges/bots/${bot.id}/votes.svg`);
  const values = await scrape();

  assert.equal(statuses, [204, 429, 404]);
  assert.is(values.get('rollcall_stats_posts_total'), 1);
  assert.is(values.get('rollcall_clicks_total'), 1);
  assert.is(values.get('rollcall_votes_total{kind="bot",outcome="accepted"}'), 1);
  assert.is(values.get('rollcall_votes_total{kind="bot",outcome="wait"}'), 1);
  assert.ok((values.get('rollcall_votes_logged_total') ?? 0) >= 1, 'two from Friday to Sunday');
  assert.is(values.get('rollcall_badges_total{cache="miss"}'), 1);
  assert.is(values.get('rollcall_badges_total{cache="hit"}'), 1);
  assert.is(values.get('rollcall_votes_total{kind="bot",outcome="failed"}'), 0);
});

test('editions of boards have an age, and what the feed sends and refuses is counted', async () => {
  const { bot } = world.demo;
  const made = async () => (await scrape()).get('rollcall_boards_edition_age_seconds{board="votes"}') ?? -1;
  await until('an edition', async () => (await made()) >= 0);
  const sent = 'rollcall_feed_frames_total{event="totals"}';
  const before = await scrape();
  const clients = [];
  for (let count = 0; count < 20; count++) {
    clients.push(await openStream(world.url, `targets=bot/${bot.id}`));
  }
  await Promise.all(clients.map((client) => client.next('totals')));
  const refused = await openStream(world.url, `targets=bot/${bot.id}`).catch((error: unknown) => error);
  const during = await scrape();
  for (const client of clients) client.close();

  assert.instance(refused, Refused);
  assert.is(during.get(sent), (before.get(sent) ?? 0) + 20);
  assert.is(during.get('rollcall_feed_connections{kind="sse"}'), 20);
  assert.is(during.get('rollcall_feed_refused_total{reason="address"}'), 1);
});

test.run();
