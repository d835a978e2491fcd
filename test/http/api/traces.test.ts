/**
 * The trace of a request (`traceparent`) in the log. How it goes out with webhooks: webhooks.test.ts.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { silentLogger } from '../silent-logger.ts';
import { openWorld } from './world.ts';

const test = suite('traces');
const lines: Record<string, unknown>[] = [];
const world = await openWorld({
  logger: {
    ...silentLogger,
    isLevelEnabled: () => true,
    debug: (fields: object) => void lines.push({ ...fields }),
  },
});
test.after(() => world.close());

test('the line of a request has its trace, and nothing of another form', async () => {
  const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
  for (const headers of [{ traceparent }, {}, { traceparent: `${traceparent}-more` }])
    await world.ask('GET', '/bots/@all', { headers });

  assert.equal(
    lines.map((line) => [line.route, line.traceparent]),
    [
      ['listBots', traceparent],
      ['listBots', undefined],
      ['listBots', undefined],
    ],
  );
});

test.run();
