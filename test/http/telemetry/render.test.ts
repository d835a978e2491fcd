/**
 * Metrics are rendered once for all requests that come together, and again for those that come later.
 */
import { setImmediate as nextRound } from 'node:timers/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createMetrics } from '../../../http/telemetry/metrics.ts';

const test = suite('rendered metrics');

test('requests that come together share one rendering; the next shows what has changed', async () => {
  const metrics = createMetrics([], { version: '1', commit: 'x' });
  const [one, other] = [metrics.render(), metrics.render()];
  metrics.counts.statsPosts += 1;
  await nextRound();
  const later = await metrics.render();

  assert.is(one, other);
  assert.match(await one, /^rollcall_stats_posts_total 0$/m);
  assert.match(later, /^rollcall_stats_posts_total 1$/m);
});

test.run();
