/**
 * The live frames: rates and percentiles from the counters, the points of the last minutes, and streams that
 * end, skip, and are bounded. The clock stands until a test moves it.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { watchFigures } from '../../../http/telemetry/figures.ts';
import { createLive, estimatePercentile, streamsMax } from '../../../http/telemetry/live.ts';
import { createMetrics } from '../../../http/telemetry/metrics.ts';
import type { LiveFrame, LivePoint, NodeStatus } from '../../../http/telemetry/node-status.ts';

const test = suite('live frames');

const createStoppedClock = () => {
  let nowMs = 1_000;
  let due = (): void => {};
  const clock = {
    nowMs: () => 1_700_000_000_000 + nowMs,
    monotonicMs: () => nowMs,
    after: (_: number, task: () => void) => {
      due = task;
      return () => {
        due = () => {};
      };
    },
  };
  const passSecond = (): void => {
    nowMs += 1_000;
    due();
  };
  return { clock, passSecond };
};

const other: NodeStatus = {
  node: 'b',
  version: '0.9.0',
  figures: {
    uptime_s: 5,
    requests_per_s: 7,
    hot_store_ms: 1,
    sql_ms: 2,
    backlog_entities: 3,
    outbox_votes: 4,
    flush_lag_s: 5,
  },
};

const openSample = () => {
  const { clock, passSecond } = createStoppedClock();
  const names = ['getBot', 'postStats', 'voteLog'];
  const figures = watchFigures(createMetrics(names, { version: '1', commit: 'x' }), clock);
  const live = createLive({
    clock,
    figures,
    requestCounts: figures.metrics.requestCounts,
    waitingRoutes: new Set(['voteLog']),
    node: 'a',
    version: '1.0.0',
    readHealth: () => ({ ready: false, notes: ['Redis is away'] }),
    listNodes: () => [other, { ...other, node: 'a' }],
  });
  const { requests, engine } = figures.metrics;
  return { live, passSecond, requests, engine, figures };
};

type Stream = AsyncIterator<string>;
const readEvent = async <Data>(stream: Stream, name: string): Promise<Data> => {
  const { value } = await stream.next();
  const [, event, data = ''] = /^(?:retry: \d+\n)?event: (\w+)\ndata: (.*)\n\n$/.exec(value as string) ?? [];
  assert.is(event, name);
  return JSON.parse(data) as Data;
};
const readFrame = (stream: Stream): Promise<LiveFrame> => readEvent(stream, 'frame');

test('a frame has the rates of the last second, and the routes of the last ten', async () => {
  const { live, passSecond, requests, engine } = openSample();
  const stream = live.stream();
  for (let count = 0; count < 99; count++) requests.recordAnswer(1, 200, 3);
  requests.recordAnswer(1, 503, 40);
  requests.recordAnswer(0, 200, 0.1);
  engine.recordCommit(8, 2);
  engine.recordCommit(4, 4);
  engine.recordBacklog({ entities: 5, votes: 6 }, 1_500);
  passSecond();
  assert.is((await readEvent<LivePoint[]>(stream, 'history')).length, 1);
  const frame = await readFrame(stream);

  assert.equal([frame.requests_per_s, frame.failures_per_s], [101, 1]);
  assert.equal([frame.commits_per_s, frame.items_per_commit, frame.hot_store_ms], [2, 6, 3]);
  assert.equal([frame.backlog_entities, frame.outbox_votes, frame.flush_lag_s], [5, 6, 1.5]);
  assert.equal([frame.ready, frame.notes, frame.uptime_s], [false, ['Redis is away'], 1]);
  assert.equal(
    frame.routes.map(({ route, requests_per_s, failures_per_s }) => [route, requests_per_s, failures_per_s]),
    [
      ['postStats', 100, 1],
      ['getBot', 1, 0],
    ],
  );
  passSecond();
  const quiet = await readFrame(stream);
  assert.equal([quiet.requests_per_s, quiet.hot_store_ms], [0, null]);
  assert.is(quiet.routes[0]?.requests_per_s, 50, 'the mean of two seconds');
  live.close();
});

test('this node is shown as of now, another one as of its heartbeat', async () => {
  const { live, passSecond, requests } = openSample();
  for (let count = 0; count < 30; count++) requests.recordAnswer(0, 200, 1);
  passSecond();
  const stream = live.stream();
  await stream.next();
  const { nodes } = await readFrame(stream);

  assert.equal(
    nodes.map(({ node, version, figures }) => [node, version, figures.requests_per_s]),
    [
      ['a', '1.0.0', 30],
      ['b', '0.9.0', 7],
    ],
  );
  live.close();
});

test('requests that wait for something to happen do not count in the percentiles', async () => {
  const { live, passSecond, requests } = openSample();
  for (let count = 0; count < 50; count++) requests.recordAnswer(2, 200, 2_400);
  requests.recordAnswer(0, 200, 0.2);
  passSecond();
  const stream = live.stream();
  await stream.next();
  const { p99_ms, routes } = await readFrame(stream);

  assert.ok((p99_ms ?? 0) <= 0.25, String(p99_ms));
  assert.ok((routes[0]?.p99_ms ?? 0) > 1_000);
  live.close();
});

test('percentiles are estimated inside their bucket', () => {
  const count = (values: readonly number[]) => Object.assign(new Array(14).fill(0), values);

  assert.is(estimatePercentile(count([]), 0.5), null);
  assert.is(estimatePercentile(count([100]), 0.5), 0.13);
  assert.is(estimatePercentile(count([50, 0, 0, 50]), 0.99), 2.47);
  assert.is(estimatePercentile(Object.assign(count([]), { 13: 5 }), 0.5), 2_500);
});

test('a reader that is slow skips frames, and the history keeps them', async () => {
  const { live, passSecond } = openSample();
  passSecond();
  const stream = live.stream();
  await stream.next();
  const first = await readFrame(stream);
  for (let count = 0; count < 1_000; count++) passSecond();
  const second = await readFrame(stream);

  assert.is(second.at_ms - first.at_ms, 1_000_000);
  const points = await readEvent<LivePoint[]>(live.stream(), 'history');
  assert.is(points.length, 900);
  assert.is(points.at(-1)?.at_ms, second.at_ms);
  live.close();
});

test('five streams are open at most; one that ends makes room; close ends them all', async () => {
  const { live, passSecond } = openSample();
  passSecond();
  const streams = Array.from({ length: streamsMax }, () => live.stream());
  for (const stream of streams) await stream.next();

  assert.is(live.hasRoom(), false);
  assert.is((await live.stream().next()).done, true);
  await streams[0]?.next();
  const pending = streams[0]?.next();
  await streams[0]?.return?.();
  assert.is(live.hasRoom(), true, 'at once, not with the next frame');
  assert.is((await pending)?.done, true);
  const rest = streams.slice(1);
  for (const stream of rest) await stream.next();
  const waiting = rest.map((stream) => stream.next());
  live.close();
  for (const { done } of await Promise.all(waiting)) assert.is(done, true);
});

test.run();
