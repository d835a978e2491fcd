/**
 * A pooler that gives a backend away after its first answer is refused at start, whatever its size, and also
 * when nothing else is connected.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { startEarlyPooler } from '../../support/early-pooler.ts';
import { startPostgres } from '../../support/postgres-server.ts';
import { namesRemedy, refuse } from './refused-start.ts';

const test = suite('a pooler that gives backends away early');
const server = await startPostgres();
await server.database('pooled');
test.after(() => server.close());

for (const backends of [1, 2, 20]) {
  test(`is refused with ${backends} backends and nothing else connected`, async () => {
    const pooler = await startEarlyPooler(server.port, backends);
    try {
      assert.match(await refuse(pooler.address('pooled')), namesRemedy);
    } finally {
      await pooler.close();
    }
  });
}

test.run();
