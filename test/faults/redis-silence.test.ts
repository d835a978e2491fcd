/**
 * Redis silent under an idle node, one server and a Cluster: `/readyz` notices and says which. With limits of
 * time in redis-silence.fault.ts. Time limit: 180 s.
 */
import { suite } from 'uvu';
import { runSilences } from './redis-silence.ts';

const test = suite('redis silent');

test('an idle node is not ready while Redis hangs or is gone, says so, and is ready after', async () => {
  await runSilences({ awayMs: 4_500, cluster: false });
});

test('the same for one primary of a Cluster, which is named', async () => {
  await runSilences({ awayMs: 4_500, cluster: true });
});

test.run();
