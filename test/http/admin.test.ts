/**
 * The private listener: health, metrics, and the one door before everything else.
 *
 * A real server with one sample row behind the door; `/readyz` is followed through all its states.
 */
import { Type } from 'typebox';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createAdmin } from '../../http/admin.ts';
import { createMetrics } from '../../http/metrics.ts';
import { type App, ok, route } from '../../http/route.ts';
import { realClock } from './world.ts';

const test = suite('admin');

const state = { ready: true, draining: false };
const app = {
  clock: realClock,
  engine: { health: () => ({ ready: state.ready, notes: state.ready ? [] : ['the hot store is away'] }) },
  settings: { sessionsPerEntityMax: 1, bodyBytesMax: 1_000 },
} as unknown as App; // The health rows reach nothing else.
const secretRow = route({
  name: 'inspect',
  method: 'GET',
  path: '/inspect',
  section: 'Operations',
  summary: 'A sample.',
  auth: { word: 'public' },
  caching: 'no-store',
  params: Type.Object({}),
  replies: { 200: Type.Object({}) },
  errors: [],
  handle: () => ok({ secret: true }),
});
const metrics = createMetrics(['getBot', 'postStats']);
const admin = createAdmin({
  app,
  metrics,
  logger: { error: () => {}, info: () => {} },
  operatorToken: 'op-token',
  draining: () => state.draining,
  rows: [secretRow],
});
const port = await admin.listen('127.0.0.1', 0);
test.after(() => admin.drain(500));

const ask = (path: string, authorization?: string): Promise<Response> =>
  fetch(`http://127.0.0.1:${port}${path}`, authorization === undefined ? {} : { headers: { authorization } });

test('/livez says that the process runs', async () => {
  assert.is((await ask('/livez')).status, 200);
});

test('/readyz follows the engine, and turns 503 while draining', async () => {
  assert.is((await ask('/readyz')).status, 200);

  state.ready = false;
  const away = await ask('/readyz');
  assert.is(away.status, 503);
  assert.equal(await away.json(), { status: 'not ready', notes: ['the hot store is away'] });

  state.ready = true;
  state.draining = true;
  assert.is((await ask('/readyz')).status, 503);
  state.draining = false;
});

test('/metrics shows what was metered', async () => {
  metrics.requests.answered(1, 200, 3);
  metrics.requests.answered(1, 200, 0.1);
  metrics.requests.answered(-1, 404, 1);
  metrics.engine.batchCommitted(7, 2);
  metrics.engine.gateWaited(4);
  metrics.engine.pending(3);
  metrics.engine.backlog({ entities: 5, votes: 6 }, 1_500);

  const answer = await ask('/metrics');
  const text = await answer.text();

  assert.match(answer.headers.get('content-type') ?? '', /^text\/plain; version=0\.0\.4/);
  for (const line of [
    'rollcall_http_requests_total{row="postStats",status="200"} 2',
    'rollcall_http_requests_total{row="none",status="404"} 1',
    'rollcall_http_request_seconds_bucket{row="postStats",le="0.00025"} 1',
    'rollcall_http_request_seconds_bucket{row="postStats",le="0.005"} 2',
    'rollcall_http_request_seconds_bucket{row="postStats",le="+Inf"} 2',
    'rollcall_http_request_seconds_count{row="postStats"} 2',
    'rollcall_gate_wait_seconds_count 1',
    'rollcall_batch_items_sum 7',
    'rollcall_pending_items 3',
    'rollcall_outbox_votes 6',
    'rollcall_flush_lag_seconds 1.5',
  ]) {
    assert.ok(text.includes(`\n${line}\n`), line);
  }
  assert.match(text, /rollcall_nodejs_eventloop_lag_seconds/);
  assert.match(text, /rollcall_process_resident_memory_bytes/);
});

test('everything else needs the operator token', async () => {
  assert.is((await ask('/inspect')).status, 401);
  assert.is((await ask('/inspect', 'Bearer wrong')).status, 401);
  assert.is((await ask('/inspect', 'op-token2')).status, 401);
  assert.is((await ask('/inspect', 'Bearer op-token')).status, 200);
  assert.is((await ask('/inspect', 'op-token')).status, 200);
  assert.is((await ask('/unknown', 'op-token')).status, 404);
});

test.run();
